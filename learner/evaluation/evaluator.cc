#include "learner/evaluation/evaluator.h"

#include <cmath>
#include <memory>

#include "policy/placer/planner_method.h"
#include "policy/players.h"
#include "policy/policy_kinds.h"
#include "simulator/environment/start_placement.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {
namespace {

void AddGraph(const PlacementTask& task, double makespan_us, bool feasible, EvaluationResult& result) {
  result.ratios.push_back(task.RatioToSingleDevice(makespan_us));
  if (!feasible) ++result.infeasible;
}

void EvaluatePlanner(const PolicyWeights& weights, const std::vector<PlacementTask>& tasks,
                     const PlacerOptions& options, const std::function<void()>& before_each, EvaluationResult& result) {
  const auto method = MakePlannerMethod({.seed = options.seed, .planner = MeanPlanner(weights)}, options.budget);
  for (const PlacementTask& task : tasks) {
    before_each();
    const MethodScore score = Score(task, method->Place(task));
    AddGraph(task, score.makespan_us, score.feasible, result);
  }
}

}  // namespace

double GeometricMeanRatio(std::span<const double> ratios) {
  double log_sum = 0;
  int64_t count = 0;
  for (const double ratio : ratios) {
    if (!(ratio > 0)) continue;
    log_sum += std::log(ratio);
    ++count;
  }
  return count > 0 ? std::exp(log_sum / static_cast<double>(count)) : std::nan("");
}

EvaluationResult Evaluate(const PolicyWeights& weights, const std::vector<PlacementTask>& tasks,
                          const PlacerOptions& options, const std::function<void()>& before_each) {
  EvaluationResult result;
  result.version = weights.version;
  if (FindPolicyKind(weights.shape.kind).plans()) {
    EvaluatePlanner(weights, tasks, options, before_each, result);
  } else {
    const std::unique_ptr<Player> player = MakePlayer(weights);
    for (const PlacementTask& task : tasks) {
      before_each();
      const PlacerResult placed = PlaceWithPolicy(*player, task, options);
      AddGraph(task, placed.makespan_us, placed.feasible, result);
    }
  }
  result.geometric_mean_ratio = GeometricMeanRatio(result.ratios);
  return result;
}

EvaluationResult EvaluateStart(const std::vector<PlacementTask>& tasks, const PlacerOptions& options) {
  EvaluationResult result;
  std::vector<uint8_t> groups;
  for (const PlacementTask& task : tasks) {
    Rng rng = PlacerRng(task, options).Fork("episode", 0);
    StartPlacement(task, options.start, rng, groups);
    std::vector<DeviceIndex> placement(static_cast<size_t>(task.sim.num_ops));
    task.Expand(groups, placement);
    const SearchScore score = PlacementScorer(task).Score(placement);
    AddGraph(task, score.makespan_us, /*feasible=*/score.bytes_over == 0, result);
  }
  result.geometric_mean_ratio = GeometricMeanRatio(result.ratios);
  return result;
}

}  // namespace emplace
