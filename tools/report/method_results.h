// The output of `emplace evaluate --json` as what a report shows of each method.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

// A step of a distribution function: the share of placements whose runtime is at most `ratio`.
struct CdfStep {
  double ratio = 0;  // makespan / one device
  double share = 0;  // 0..1
};

struct MethodResults {
  std::string method;
  int64_t placements = 0;  // Rows: graphs, times seeds where there are several.
  int64_t feasible = 0;    // Of these, with a placement that fits the devices' memory.
  int64_t wins = 0;        // Graphs on which no other method is faster; by the geometric mean over seeds, and one
                           // that fits every time beats any that does not. Ties count for all.
  double geometric_mean_ratio = 0;  // Over rows with a makespan and a one-device time; NaN: there are none.
  double seconds = 0;               // Sums.
  int64_t evaluations = 0;          // Simulated placements.
  // Rises by 1 / (rows with a one-device time) for each of them that is feasible: what never fits never gets there.
  std::vector<CdfStep> cdf;
};

struct EvaluationResults {
  int64_t graphs = 0;
  int64_t rows_without_single = 0;     // Left out of every ratio: nothing tells the one-device time of their graph.
  std::vector<MethodResults> methods;  // In the order of the file.
};

// {"results": [{"graph", "method", "makespan_us", "feasible", "evaluations", "seconds"}, ...]} and, optionally,
// "graphs": {name: {"single_device_us"}}; a graph that this lacks takes the makespan of its row of method "single".
// Throws BadInput "source: results[3]: ..." for anything else.
EvaluationResults ParseEvaluation(std::string_view text, const std::string& source);

}  // namespace emplace
