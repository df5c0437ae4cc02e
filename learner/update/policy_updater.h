// The learner's update: trajectories in, the next policy version out (design, section 5, "Update").
// REINFORCE with per-(graph, step) baselines, clipped importance weights for lagging trajectories, an entropy bonus
// that decays, on the states that this update draws; and, where asked for, imitation of the best episodes so far. The
// arithmetic is an UpdateEngine's. Not thread-safe.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/config/run_config.h"
#include "common/policy/policy_weights.h"
#include "common/trajectory.h"
#include "learner/update/advantage_scale.h"
#include "learner/update/baselines.h"
#include "learner/update/best_episodes.h"
#include "learner/update/entropy_control.h"
#include "learner/update/update_engine.h"
#include "simulator/placement_task.h"

namespace emplace {

struct UpdateStats {
  double loss = 0;
  double entropy = 0;  // Mean over states, nats.
  double entropy_weight = 0;
  double learning_rate = 0;
  double gradient_norm = 0;    // Before clipping.
  double mean_importance = 0;  // Mean importance weight before clipping; 1 when nothing lags.
  double advantage_std = 0;    // Before normalization.
  int64_t states = 0;
};

// Everything that the next update depends on besides the policy itself; goes into checkpoints.
struct UpdaterState {
  AdamState adam;
  double entropy_weight = 0;  // As EntropyControl steers it.
  // Baselines: for each graph, its recent episodes' returns-to-go, oldest first: [episodes * n] row-major.
  std::vector<std::vector<float>> recent_returns;
  std::vector<double> mean_squares;        // [graphs] of advantages, as AdvantageScale has them.
  std::vector<BestEpisode> best_episodes;  // [graphs]
};

class PolicyUpdater {
 public:
  // REQUIRES: tasks outlive the updater; the engine is for `initial`.
  PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial,
                std::unique_ptr<UpdateEngine> engine);

  // One update from these episodes, `training.epochs` optimizer steps; the version goes up by one. REQUIRES: each has
  // passed CheckTrajectory.
  UpdateStats Update(const std::vector<Trajectory>& batch);
  const PolicyWeights& weights() const { return weights_; }
  const std::string& device() const { return engine_->device(); }

  UpdaterState SaveState() const;
  void LoadState(const UpdaterState& state);  // Throws BadInput when sizes do not fit.

 private:
  // The batch, then the best episodes so far, to learn from both.
  std::vector<Trajectory> WithImitated(const std::vector<Trajectory>& batch);
  std::vector<Sample> DrawSamples(std::span<const Trajectory> episodes) const;
  StepOutcome Step(const UpdateInputs& inputs);

  const std::vector<PlacementTask>& tasks_;
  const TrainingConfig config_;
  const uint64_t seed_;
  PolicyWeights weights_;
  const std::unique_ptr<UpdateEngine> engine_;
  Baselines baselines_;
  AdvantageScale scale_;
  BestEpisodes best_;
  EntropyControl entropy_;
};

}  // namespace emplace
