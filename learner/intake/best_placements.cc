#include "learner/intake/best_placements.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "learner/evaluation/evaluator.h"
#include "simulator/environment/placement_env.h"

namespace emplace {
namespace {

// Placements that an episode may have simulated beside its end. More than one are looked at only while they turn out
// not to fit in memory: a rho does not tell that from slowness. So a graph that hardly fits costs a few runs an
// episode.
constexpr size_t kMostTries = 4;

// After how many steps of the episode its rho is below `bound`, the lowest first. Compared as they travel, in float32:
// what is better by less than that shows is simulated only where an episode ends, or every episode that comes through
// the best placement would have it simulated again.
std::vector<size_t> ClaimsBelow(double bound, const Trajectory& trajectory) {
  std::vector<size_t> claims;
  for (size_t step = 0; step < trajectory.actions.size(); ++step) {
    const bool moved = step == 0 || trajectory.actions[step - 1] != trajectory.start_placement[step - 1];
    if (moved && trajectory.rho[step] < static_cast<float>(bound)) claims.push_back(step);
  }
  const size_t kept = std::min(claims.size(), kMostTries);
  std::partial_sort(
      claims.begin(), claims.begin() + static_cast<std::ptrdiff_t>(kept), claims.end(),
      [&](size_t a, size_t b) { return std::pair(trajectory.rho[a], a) < std::pair(trajectory.rho[b], b); });
  claims.resize(kept);
  return claims;
}

}  // namespace

BestPlacements::BestPlacements(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                               const RunClock& clock)
    : tasks_(tasks), environment_(environment), clock_(clock), graphs_(tasks.size()) {}

std::optional<std::string> BestPlacements::Consider(const Trajectory& trajectory, const TrajectoryChecker::Outcome& end,
                                                    TrajectoryChecker& checker) {
  double makespan_us = 0;  // Of the best so far, this episode's placements included,
  {
    const MutexLock lock(mu_);
    makespan_us = graphs_[trajectory.graph].best.makespan_us;
  }
  std::optional<size_t> steps;  // and after how many steps of this episode it comes.
  if (end.feasible && end.makespan_us < makespan_us) {
    makespan_us = end.makespan_us;
    steps = trajectory.actions.size();
  }
  // What fits in memory has no penalty in its rho.
  for (const size_t claim : ClaimsBelow(Rho(environment_, makespan_us, {}, {}), trajectory)) {
    TrajectoryChecker::Outcome outcome = checker.CheckAfter(trajectory, claim);
    if (outcome.reason) return std::move(outcome.reason);
    if (!outcome.feasible) continue;
    if (outcome.makespan_us < makespan_us) {
      makespan_us = outcome.makespan_us;
      steps = claim;
    }
    break;  // The claims after it are higher.
  }
  Improvement improvement;
  improvement.graph = trajectory.graph;
  if (steps) {
    improvement.groups.resize(trajectory.actions.size());
    PlacementAfter(trajectory, *steps, improvement.groups);
  }

  const MutexLock lock(mu_);
  Graph& graph = graphs_[trajectory.graph];
  ++graph.counts.episodes;
  graph.counts.steps += std::ssize(trajectory.actions);
  // Another thread may have found a better one meanwhile.
  if (!steps || makespan_us >= graph.best.makespan_us) return std::nullopt;
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
