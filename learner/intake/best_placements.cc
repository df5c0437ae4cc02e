#include "learner/intake/best_placements.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "learner/claims.h"
#include "learner/evaluation/evaluator.h"
#include "policy/policy_kind.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/placement_env.h"

namespace emplace {
BestPlacements::BestPlacements(const std::vector<PlacementTask>& tasks, const PolicyKind& kind,
                               const EnvironmentConfig& environment, const RunClock& clock)
    : tasks_(tasks), kind_(kind), environment_(environment), clock_(clock), graphs_(tasks.size()) {}

std::optional<std::string> BestPlacements::Consider(const Trajectory& trajectory, const TrajectoryChecker::Outcome& end,
                                                    TrajectoryChecker& checker) {
  double makespan_us = 0;  // Of the best so far, this episode's placements included,
  {
    const MutexLock lock(mu_);
    makespan_us = graphs_[trajectory.graph].best.makespan_us;
  }
  std::optional<size_t> point;  // and which rho of this episode is its.
  if (end.feasible && end.makespan_us < makespan_us) {
    makespan_us = end.makespan_us;
    point = trajectory.rho.size() - 1;
  }
  // What fits in memory has no penalty in its rho. Measured rewards are no claims about the simulator.
  const bool simulated = trajectory.claim == Claim::kSimulated;
  for (const size_t claim :
       simulated ? ClaimsBelow(Rho(environment_, makespan_us, {}, {}), 0, trajectory) : std::vector<size_t>()) {
    TrajectoryChecker::Outcome outcome = checker.CheckPoint(trajectory, claim);
    if (outcome.reason) return std::move(outcome.reason);
    if (!outcome.feasible) continue;
    if (outcome.makespan_us < makespan_us) {
      makespan_us = outcome.makespan_us;
      point = claim;
    }
    break;  // The claims after it are higher.
  }
  Improvement improvement;
  improvement.graph = trajectory.graph;
  if (point) {
    const PlacementTask& task = tasks_[trajectory.graph];
    improvement.groups.resize(static_cast<size_t>(task.groups.num_groups));
    kind_.PlacementAt(task, trajectory, *point, improvement.groups);
  }

  const MutexLock lock(mu_);
  Graph& graph = graphs_[trajectory.graph];
  ++graph.counts.episodes;
  graph.counts.steps += std::ssize(trajectory.actions);
  // Another thread may have found a better one meanwhile.
  if (!point || makespan_us >= graph.best.makespan_us) return std::nullopt;
  graph.best = {.makespan_us = makespan_us,
                .ratio = tasks_[trajectory.graph].RatioToSingleDevice(makespan_us),
                .sampled = graph.counts,
                .update = trajectory.policy_version,
                .seconds = clock_.seconds()};
  improvement.found = graph.best;
  improvements_.push_back(std::move(improvement));
  return std::nullopt;
}

void BestPlacements::Restore(GraphId graph, const SampleCounts& counts, const std::optional<FoundPlacement>& best) {
  const MutexLock lock(mu_);
  graphs_[graph].counts = counts;
  if (best) graphs_[graph].best = *best;
}

std::vector<BestPlacements::Improvement> BestPlacements::TakeImprovements() {
  const MutexLock lock(mu_);
  return std::exchange(improvements_, {});
}

std::vector<SampleCounts> BestPlacements::counts() const {
  std::vector<SampleCounts> counts;
  const MutexLock lock(mu_);
  for (const Graph& graph : graphs_) counts.push_back(graph.counts);
  return counts;
}

double BestPlacements::GeometricMeanRatio() const {
  std::vector<double> ratios;
  const MutexLock lock(mu_);
  for (const Graph& graph : graphs_) {
    if (std::isfinite(graph.best.makespan_us)) ratios.push_back(graph.best.ratio);
  }
  return emplace::GeometricMeanRatio(ratios);
}

}  // namespace emplace
