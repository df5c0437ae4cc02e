// The learner's update: makes the next version of the policy from a batch of trajectories. It uses REINFORCE with a
// baseline for each graph and step, clipped importance weights for trajectories of older versions, and an entropy
// bonus; and, where the configuration asks for it, imitation of the best episodes so far. Each update draws the states
// that it learns from. An UpdateEngine does the arithmetic.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/trajectory.h"
#include "learner/update/objective/advantage_scale.h"
#include "learner/update/objective/baselines.h"
#include "learner/update/objective/best_episodes.h"
#include "learner/update/objective/entropy_control.h"
#include "learner/update/update_engine.h"
#include "policy/policy_kind.h"
#include "policy/policy_weights.h"
#include "policy/run_config.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

struct UpdateStats {
  double loss = 0;
  double entropy = 0;  // Mean over states, in nats.
  double entropy_weight = 0;
  double learning_rate = 0;
  double gradient_norm = 0;    // Norm of the gradient before clipping.
  double mean_importance = 0;  // Mean importance weight before clipping; 1 when no trajectory lags.
  double advantage_std = 0;    // Standard deviation of the advantages before normalization.
  int64_t states = 0;          // Number of samples learned from.
};

// Everything but the policy that the next update depends on. Checkpoints hold it.
struct UpdaterState {
  AdamState adam;
  double entropy_weight = 0;  // The weight that EntropyControl adjusts.
  // For the baselines, the returns-to-go of each graph's recent episodes, oldest first: [graphs][episodes * n].
  std::vector<std::vector<float>> recent_returns;
  std::vector<double> mean_squares;        // [graphs] AdvantageScale::mean_squares.
  std::vector<BestEpisode> best_episodes;  // [graphs]
};

// Not thread-safe.
class PolicyUpdater {
 public:
  // REQUIRES: tasks outlive the updater; the engine is for `initial`.
  PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial,
                std::unique_ptr<UpdateEngine> engine);

  // Makes one update from these episodes, in `training.epochs` optimizer steps, and raises the version by one.
  // REQUIRES: each episode has passed CheckShape.
  UpdateStats Update(const std::vector<Trajectory>& batch);
  const PolicyWeights& weights() const { return weights_; }
  const std::string& device() const { return engine_->device(); }

  UpdaterState SaveState() const;
  void LoadState(const UpdaterState& state);  // Throws BadInput when the state does not fit the policy or the graphs.

 private:
  // Returns the batch, followed by the best episodes to imitate.
  std::vector<Trajectory> WithImitated(const std::vector<Trajectory>& batch);
  std::vector<Sample> DrawSamples(std::span<const Trajectory> episodes) const;
  StepOutcome Step(const UpdateInputs& inputs);

  const std::vector<PlacementTask>& tasks_;
  const TrainingConfig config_;
  const uint64_t seed_;
  PolicyWeights weights_;
  const PolicyKind& kind_;
  const std::unique_ptr<UpdateEngine> engine_;
  Baselines baselines_;
  AdvantageScale scale_;
  BestEpisodes best_;
  EntropyControl entropy_;
};

}  // namespace emplace
