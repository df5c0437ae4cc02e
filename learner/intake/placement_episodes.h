// Rules of episodes whose decisions place the groups of a training graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learner/intake/best_placements.h"
#include "learner/intake/episode_rules.h"
#include "policy/config/run_config.h"
#include "policy/policy_kind.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class PlacementEpisodes final : public EpisodeRules {
 public:
  // `placements` considers every episode that passes. REQUIRES: tasks, placements and config outlive the rules.
  PlacementEpisodes(const std::vector<PlacementTask>& tasks, const RunConfig& config, BestPlacements& placements);

  std::optional<std::string> CheckShape(const Trajectory& episode) const override;
  std::unique_ptr<EpisodeChecker> MakeChecker() const override;

 private:
  const std::vector<PlacementTask>& tasks_;
  const RunConfig& config_;
  const PolicyKind& kind_;
  BestPlacements& placements_;
};

}  // namespace emplace
