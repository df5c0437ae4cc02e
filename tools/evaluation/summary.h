// What the runs of an evaluation say about each method.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/interval.h"
#include "tools/evaluation/evaluation.h"

namespace emplace {

struct MethodSummary {
  std::string method;
  int64_t graphs = 0;
  int64_t runs = 0;
  int64_t feasible = 0;  // Runs whose placement exists and fits.
  int64_t wins =
      0;  // Graphs on which no other method of this evaluation was faster; ties count for all. By mean over seeds.
  Interval ratio;      // Of seeds: the geometric mean over graphs of makespan / one device, where both exist.
  double seconds = 0;  // Sums over runs.
  int64_t evaluations = 0;
};

// In the order of `methods`.
std::vector<MethodSummary> Summarize(const std::vector<RunResult>& results, const std::vector<std::string>& methods);

}  // namespace emplace
