// Reads what methods found in given times, as tools/reproduce/report.py gives it of a table of anytime.py, and sums it
// up as a report shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

struct AnytimeMethod {
  std::string method;
  // [seconds] geometric mean of makespan over the best known of the same pair of a graph and a machine, over the runs
  // in which the method found a placement that fits in time; NaN: there are none.
  std::vector<double> over_best;
  std::vector<int64_t> runs;  // [seconds] how many results that is; a pair has one for each seed
};

struct AnytimeResults {
  std::vector<double> seconds;         // Ascending: the times that methods were given.
  int64_t pairs = 0;                   // Pairs of a graph and a machine on which any method found anything.
  std::vector<AnytimeMethod> methods;  // The best of the longest time first.
};

// Whether the text begins as a file of this format.
bool IsAnytime(std::string_view text);

// Reads {"format": "emplace.anytime/1", "runs": [{"graph", "machine", "seconds", "seed", "methods": {name:
// {"makespan_us", "feasible", "in_time"}}}]}. The best known of a pair is what any method found on it in any of its
// runs. Throws BadInput "source: runs[3]: ..." for anything else.
AnytimeResults ParseAnytime(std::string_view text, const std::string& source);

}  // namespace emplace
