// The update by evolution: moves a policy that is a normal distribution (policy/gaussian.h) to where candidates drawn
// from it did better than others on the same problems. A batch is a generation: all trials (policy/trials/trial.h) of
// the version.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learner/update/evolution/average.h"
#include "learner/update/evolution/evolution_strategy.h"
#include "learner/update/updater.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"

namespace emplace {

class EvolutionUpdater final : public Updater {
 public:
  // Learns the first parameters, as many as a policy of config.policy has; others stay as they are, and the policy does
  // not spread them. REQUIRES: the policy's kind plans, and it has as many parameters as are learned.
  EvolutionUpdater(const RunConfig& config, PolicyWeights initial);

  // A candidate's loss is the mean over problems of its score less that of the median candidate, within
  // evolution.score_clip, and evolution.penalty for how far it is from the planner set by hand; by it
  // evolution.algorithm moves the distribution. REQUIRES besides: the batch has every trial
  // of the version once, by index.
  UpdateStats Update(const std::vector<Trajectory>& batch) override;
  const PolicyWeights& weights() const override { return weights_; }
  // The mean is the average of all generations' means (average.h), with evolution.average_power above 0.
  std::optional<PolicyWeights> Averaged() const override;
  const std::string& device() const override { return device_; }

  UpdaterState SaveState() const override;
  void LoadState(const UpdaterState& state) override;

 private:
  std::vector<double> LossesOf(const std::vector<Trajectory>& batch) const;

  const RunConfig config_;
  const std::string device_ = "cpu";
  PolicyWeights weights_;
  const std::unique_ptr<EvolutionStrategy> strategy_;  // Of the parameters that are learned.
  Average average_;                                    // Of strategy_->mean() after each generation.
};

}  // namespace emplace
