// The arithmetic of an optimizer step: the gradient of the loss (objective/decision_loss.h), clipping, and Adam.
// PolicyUpdater decides what is learned from; an engine knows no baselines, schedules or versions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "learner/update/objective/decision_loss.h"
#include "policy/model.h"
#include "policy/whole_step.h"

namespace emplace {

struct UpdateInputs : StepInputs {
  const DecisionLoss& loss;
};

// Not thread-safe.
class UpdateEngine {
 public:
  virtual ~UpdateEngine() = default;

  // Makes one optimizer step and writes the new parameters to `values` [NumParameters].
  virtual StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) = 0;
  virtual AdamState SaveAdam() const = 0;
  // REQUIRES: the state has as many moments as the policy has parameters.
  virtual void LoadAdam(const AdamState& state) = 0;
  virtual const std::string& device() const = 0;  // "cpu" or "cuda:0"
};

}  // namespace emplace
