// The learner's update: makes the next version of the policy from a batch of trajectories. An Objective says what is
// learned from the batch and by which loss, an UpdateEngine does the arithmetic.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/files/safetensors.h"
#include "common/trajectory.h"
#include "learner/update/objective/objective.h"
#include "learner/update/update_engine.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

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
  SafetensorsFile objective;  // Objective::Save. No name begins with "adam.".
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
  StepOutcome Step(const UpdateInputs& inputs);

  const TrainingConfig config_;
  PolicyWeights weights_;
  const std::unique_ptr<UpdateEngine> engine_;
  const std::unique_ptr<Objective> objective_;
};

}  // namespace emplace
