// Plays the trials of an evolution (policy/trials/trial.h). A trial is an episode without decisions: its trajectory has
// its number and one rho, what the candidate's placement is worth.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "actor/episode_player.h"
#include "common/trajectory.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "policy/trials/trial_runner.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class TrialRollout final : public EpisodePlayer {
 public:
  // REQUIRES: tasks, which are of PlacementTask::Make, and config outlive the rollout.
  TrialRollout(const std::vector<PlacementTask>& tasks, const RunConfig& config, const ActorKey& actor)
      : runner_(tasks, config), config_(config), graphs_(tasks.size()), actor_(actor) {}

  void SetWeights(std::shared_ptr<const PolicyWeights> weights) override { weights_ = std::move(weights); }
  void StartLockstep(std::span<const uint32_t> indices, uint64_t /*seed*/) override {
    waiting_.assign(indices.begin(), indices.end());
  }
  bool idle() const override { return waiting_.empty(); }
  // Runs one trial. REQUIRES: not idle.
  std::vector<Trajectory> Advance(size_t most) override;

 private:
  TrialRunner runner_;
  const RunConfig& config_;
  const size_t graphs_;
  const ActorKey actor_;
  std::shared_ptr<const PolicyWeights> weights_;
  std::deque<uint32_t> waiting_;
};

}  // namespace emplace
