// Learning with a model that makes a whole optimizer step at once, on a GPU: forward pass, the loss `reinforce`,
// backward pass, clipping and Adam. Which kinds have such a model, models.h says.
#pragma once

#include <span>
#include <string>

#include "common/trajectory.h"
#include "policy/adam.h"
#include "policy/model.h"

namespace emplace {

// What every optimizer step is made from, whatever its loss.
struct StepInputs {
  std::span<const Trajectory> episodes;
  std::span<const Sample> samples;    // Sorted so that those of one graph are together, by decision.
  std::span<const float> advantages;  // [S] of the samples' decisions
  std::span<const float> lags;        // [S] 1 where an older version chose the action, else 0
  double gradient_clip = 0;           // The largest norm of the whole gradient.
  double learning_rate = 0;
};

struct WholeStepInputs : StepInputs {
  double importance_clip = 0;  // Upper limit of an importance weight.
  double entropy_weight = 0;   // Weight of the entropy bonus.
};

struct StepOutcome {
  double loss = 0;
  double entropy = 0;          // Mean over decisions, in nats.
  double mean_importance = 0;  // Mean importance weight before clipping.
  double gradient_norm = 0;    // Norm before clipping; when it is not finite, the step was left out.
};

// Not thread-safe. Throws RunFailed when the GPU fails or has too little memory.
class WholeStep {
 public:
  virtual ~WholeStep() = default;

  // Makes one optimizer step and writes the new parameters to `values` [parameters].
  virtual StepOutcome Step(const WholeStepInputs& inputs, std::span<float> values) = 0;
  virtual AdamState SaveAdam() const = 0;
  // REQUIRES: the state has as many moments as the policy has parameters.
  virtual void LoadAdam(const AdamState& state) = 0;
  virtual const std::string& device() const = 0;  // "cuda:0"
};

}  // namespace emplace
