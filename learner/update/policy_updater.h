// The update by a gradient: a LearningObjective says what is learned from the batch and by which loss, an UpdateEngine
// does the arithmetic.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "learner/update/objective/objective.h"
#include "learner/update/update_engine.h"
#include "learner/update/updater.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Not thread-safe.
class PolicyUpdater final : public Updater {
 public:
  // REQUIRES: tasks outlive the updater; the engine is for `initial`.
  PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial,
                std::unique_ptr<UpdateEngine> engine);

  // In `training.epochs` optimizer steps.
  UpdateStats Update(const std::vector<Trajectory>& batch) override;
  const PolicyWeights& weights() const override { return weights_; }
  const std::string& device() const override { return engine_->device(); }

  UpdaterState SaveState() const override;
  void LoadState(const UpdaterState& state) override;
  void ForgetBest() override { objective_->ForgetBest(); }

 private:
  StepOutcome Step(const UpdateInputs& inputs);

  const TrainingConfig config_;
  PolicyWeights weights_;
  const std::unique_ptr<UpdateEngine> engine_;
  const std::unique_ptr<LearningObjective> objective_;
};

}  // namespace emplace
