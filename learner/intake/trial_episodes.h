// Rules of the trials of an evolution (policy/trials/trial.h). A share of them, evolution.checked, is run again: which
// ones, nobody can foresee.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learner/intake/episode_rules.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class TrialEpisodes final : public EpisodeRules {
 public:
  // The weights that were published last; any thread may call it.
  using NewestWeights = std::function<std::shared_ptr<const PolicyWeights>()>;

  // tasks: of PlacementTask::Make, index = GraphId; empty: the problems are instances without end. REQUIRES: tasks and
  // config outlive the rules.
  TrialEpisodes(const std::vector<PlacementTask>& tasks, const RunConfig& config, NewestWeights newest);

  std::optional<std::string> CheckShape(const Trajectory& trial) const override;
  std::unique_ptr<EpisodeChecker> MakeChecker() const override;

 private:
  const std::vector<PlacementTask>& tasks_;
  const RunConfig& config_;
  const NewestWeights newest_;
};

}  // namespace emplace
