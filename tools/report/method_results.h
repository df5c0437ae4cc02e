// Reads the output of `emplace evaluate --json` and sums it up for each method, as a report shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/methods/placement_method.h"

namespace emplace {

// A step of a distribution function: `share` of the placements have a ratio of at most `ratio`.
struct CdfStep {
  double ratio = 0;  // What is minimized / one device
  double share = 0;  // 0..1
};

struct MethodResults {
  std::string method;
  int64_t placements = 0;  // Number of rows: graphs, times seeds if there are several.
  int64_t feasible = 0;    // Number of rows whose placement fits in memory.
  int64_t wins = 0;        // Number of graphs on which no other method is faster, by the geometric mean over seeds. A
                           // method whose placements all fit beats any whose do not. Ties count for all.
  // Over the rows with a placement and a one-device time, as `evaluate` has it: the mean over seeds of the geometric
  // mean over graphs. NaN: there are none.
  double geometric_mean_ratio = 0;
  double seconds = 0;       // Sum over the rows.
  int64_t evaluations = 0;  // Number of simulated placements, summed over the rows.
  // Rises by 1 / (number of rows with a one-device time) for each such row that is feasible, so that it ends below 1
  // when some placements do not fit.
  std::vector<CdfStep> cdf;
};

struct EvaluationResults {
  Objective objective = Objective::kLatency;  // What the methods minimized, of which the ratios are.
  int64_t graphs = 0;
  int64_t rows_without_single = 0;     // Rows without a ratio, because their graph has no known one-device time.
  std::vector<MethodResults> methods;  // In the order of the file.
};

// Reads {"results": [{"graph", "method", "makespan_us", "feasible", "evaluations", "seconds"}, ...]} and, where they
// are there, "path", "seed" and "single_device_us" in a row, "graphs": {name: {"single_device_us"}}, and "settings":
// {"objective"}, with which throughput has "max_load_us" in each row. The one-device time of a graph that is missing is
// the time of its row of the method "single". Throws BadInput "source: results[3]: ..." for anything else.
EvaluationResults ParseEvaluation(std::string_view text, const std::string& source);

}  // namespace emplace
