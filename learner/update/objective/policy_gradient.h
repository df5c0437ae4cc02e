// The objective of policy gradients: REINFORCE with a baseline for each graph and step, or PPO's clipped loss over the
// same advantages; an entropy bonus; and, where the configuration asks for it, imitation of the best episodes so far.
// Each lesson draws the states that are learned from.
#pragma once

#include <memory>
#include <vector>

#include "learner/update/objective/advantage_scale.h"
#include "learner/update/objective/baselines.h"
#include "learner/update/objective/best_episodes.h"
#include "learner/update/objective/entropy_control.h"
#include "learner/update/objective/objective.h"
#include "policy/config/run_config.h"
#include "policy/policy_kind.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Not thread-safe.
class PolicyGradient final : public LearningObjective {
 public:
  // REQUIRES: tasks outlive it; index = GraphId.
  PolicyGradient(const std::vector<PlacementTask>& tasks, const RunConfig& config, const PolicyShape& shape);

  const Lesson& Prepare(const std::vector<Trajectory>& batch, PolicyVersion version) override;
  const DecisionLoss& loss() const override { return *loss_; }
  void Observe(PolicyVersion version, double entropy) override { entropy_.Observe(version, entropy); }

  SafetensorsFile Save() const override;
  void Load(const SafetensorsFile& state) override;
  void ForgetBest() override { best_.Load(std::vector<BestEpisode>(tasks_.size())); }

 private:
  // The batch, followed by the best episodes to imitate.
  std::span<const Trajectory> WithImitated(const std::vector<Trajectory>& batch, PolicyVersion version);
  std::vector<Sample> DrawSamples(std::span<const Trajectory> episodes, PolicyVersion version) const;
  LossSpec Loss(double entropy_weight) const;
  // Whether actors draw from this version's logits with noise.
  bool HasNoise(PolicyVersion version) const;
  // The number of rewards, and so of advantages, in an episode of so many decisions.
  size_t NumReturns(size_t decisions) const;

  const std::vector<PlacementTask>& tasks_;
  const TrainingConfig config_;
  const uint64_t seed_;
  const PolicyKind& kind_;
  Baselines baselines_;
  AdvantageScale scale_;
  BestEpisodes best_;
  EntropyControl entropy_;
  std::vector<Trajectory> with_imitated_;  // The lesson's, where there is something to imitate.
  Lesson lesson_;
  std::unique_ptr<DecisionLoss> loss_;
};

}  // namespace emplace
