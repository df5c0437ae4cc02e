// The learner's optimizer step: trajectories in, the next policy version out (design, section 5, "Update").
// REINFORCE with per-(graph, step) baselines, clipped importance weights for lagging trajectories, entropy bonus, Adam,
// global-norm clipping. LibTorch stays in the .cc. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/config/run_config.h"
#include "common/policy/policy_weights.h"
#include "common/trajectory.h"
#include "simulator/placement_task.h"

namespace emplace {

struct UpdateStats {
  double loss = 0;
  double entropy = 0;            // Mean over states, nats.
  double entropy_weight = 0;
  double learning_rate = 0;
  double gradient_norm = 0;      // Before clipping.
  double mean_importance = 0;    // Mean importance weight before clipping; 1 when nothing lags.
  double advantage_std = 0;      // Before normalization.
  int64_t states = 0;
};

// Everything that the next update depends on besides the policy itself; goes into checkpoints.
struct UpdaterState {
  int64_t adam_steps = 0;
  std::vector<float> adam_mean;       // [NumParameters] first moments, order of PolicyLayers
  std::vector<float> adam_variance;   // [NumParameters] second moments
  // Baselines: for each graph, its recent episodes' returns-to-go, oldest first: [episodes * n] row-major.
  std::vector<std::vector<float>> recent_returns;
};

class PolicyUpdater {
 public:
  // Throws RunFailed when config.training.device is "cuda" and there is none. REQUIRES: tasks outlive the updater.
  PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial);
  ~PolicyUpdater();

  // One optimizer step on these episodes; the version goes up by one. REQUIRES: each has passed CheckTrajectory.
  UpdateStats Update(const std::vector<Trajectory>& batch);
  const PolicyWeights& weights() const;
  const std::string& device() const;  // "cpu" or "cuda:0"

  UpdaterState SaveState() const;
  void LoadState(const UpdaterState& state);  // Throws BadInput when sizes do not fit.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
