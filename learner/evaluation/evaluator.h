// Evaluates a policy by its greedy placements of a list of graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "policy/placer/policy_placer.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct EvaluationResult {
  PolicyVersion version = 0;
  std::vector<double> ratios;       // [tasks] makespan / best single device; NaN where no device may run every op
  double geometric_mean_ratio = 0;  // Over the graphs that have a ratio; NaN: no graph has one. Lower is better.
  int64_t infeasible = 0;           // Number of graphs whose placement does not fit in memory.
};

// The geometric mean of those ratios that are numbers above 0; NaN when there is none.
double GeometricMeanRatio(std::span<const double> ratios);

// before_each is called before each task. REQUIRES: the policy is for the tasks' number of devices.
EvaluationResult Evaluate(
    const PolicyWeights& weights, const std::vector<PlacementTask>& tasks, const PlacerOptions& options,
    const std::function<void()>& before_each = [] {});

// Evaluates the start placements from which Evaluate lets the policy begin: a policy has to be better than these.
EvaluationResult EvaluateStart(const std::vector<PlacementTask>& tasks, const PlacerOptions& options);

}  // namespace emplace
