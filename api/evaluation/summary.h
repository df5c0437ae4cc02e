// What the runs of an evaluation say about each method.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/evaluation/evaluation.h"
#include "common/interval.h"

namespace emplace {

struct MethodSummary {
  std::string method;
  int64_t graphs = 0;
  int64_t runs = 0;
  int64_t feasible = 0;  // Runs whose placement exists and fits.
  // Graphs on which no other method of this evaluation was faster, by the objective's mean over seeds; ties count for
  // all.
  int64_t wins = 0;
  // Of seeds: the geometric mean over graphs of what the objective minimizes / one device, where both exist.
  Interval ratio;
  double seconds = 0;  // Sums over runs.
  int64_t evaluations = 0;
};

// The row after that of `policy`: what `emplace place` hands out, so never worse than one device.
inline constexpr char kPolicyOrSingle[] = "policy+single";

// In the order of `methods`; where `policy` is one of them, kPolicyOrSingle follows it. It wins against all but
// `policy` and `single`, whose placements it takes, and takes no win from another.
std::vector<MethodSummary> Summarize(const std::vector<RunResult>& results, const std::vector<std::string>& methods,
                                     Objective objective = Objective::kLatency);

}  // namespace emplace
