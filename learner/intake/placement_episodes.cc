#include "learner/intake/placement_episodes.h"

#include "learner/intake/trajectory_check.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

class PlacementChecker final : public EpisodeChecker {
 public:
  PlacementChecker(const std::vector<PlacementTask>& tasks, const PolicyKind& kind, const RunConfig& config,
                   BestPlacements& placements)
      : tasks_(tasks), checker_(tasks, kind, config.environment, config.hardware), placements_(placements) {}

  EpisodeWorth Check(const Trajectory& episode) override {
    const TrajectoryChecker::Outcome outcome = checker_.Check(episode);
    if (outcome.reason) return {.reason = outcome.reason};
    if (std::optional<std::string> reason = placements_.Consider(episode, outcome, checker_)) return {.reason = reason};
    return {.reason = std::nullopt,
            .ratio = tasks_[episode.graph].RatioToSingleDevice(outcome.makespan_us),
            .feasible = outcome.feasible,
            .measured_ratio = outcome.measured_ratio};
  }

 private:
  const std::vector<PlacementTask>& tasks_;
  TrajectoryChecker checker_;
  BestPlacements& placements_;
};

}  // namespace

PlacementEpisodes::PlacementEpisodes(const std::vector<PlacementTask>& tasks, const RunConfig& config,
                                     BestPlacements& placements)
    : tasks_(tasks), config_(config), kind_(FindPolicyKind(config.policy.kind)), placements_(placements) {}

std::optional<std::string> PlacementEpisodes::CheckShape(const Trajectory& episode) const {
  return emplace::CheckShape(tasks_, kind_, episode);
}

std::unique_ptr<EpisodeChecker> PlacementEpisodes::MakeChecker() const {
  return std::make_unique<PlacementChecker>(tasks_, kind_, config_, placements_);
}

}  // namespace emplace
