// The arithmetic of an optimizer step: the gradient of the loss, clipping, and Adam. PolicyUpdater decides what is
// learned from; an engine knows no baselines, schedules or versions.
//
//   loss = -1/S * sum over states of [min(clip, w) * A * log pi(a|s) + entropy_weight * H(pi(.|s))],
//   w = pi(a|s) / mu(a|s) is the importance weight, a constant of the gradient: pi is the policy, mu the behaviour
//   policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "policy/adam.h"

namespace emplace {

// One state to learn from: the groups before `step` are where the episode's actions put them, the others are where the
// episode started.
struct Sample {
  size_t episode = 0;  // Index into UpdateInputs::episodes.
  int32_t step = 0;
};

struct UpdateInputs {
  std::span<const Trajectory> episodes;
  std::span<const Sample> samples;    // [S] sorted so that those of one graph are together, by step
  std::span<const float> advantages;  // [S]
  // [S] 1 where an older version chose the action, else 0. Where it is 0, the importance weight is exactly 1, although
  // the actor's kernel may round differently.
  std::span<const float> lags;
  double importance_clip = 1;
  double entropy_weight = 0;
  double gradient_clip = 0;  // The largest norm of the whole gradient.
  double learning_rate = 0;
};

struct StepOutcome {
  double loss = 0;
  double entropy = 0;          // Mean over states, in nats.
  double mean_importance = 0;  // Mean importance weight before clipping.
  double gradient_norm = 0;    // Norm before clipping; when it is not finite, the step was left out.
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
