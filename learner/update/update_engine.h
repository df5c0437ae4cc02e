// Where the arithmetic of an optimizer step happens: gradient of the loss, clipping, Adam. PolicyUpdater decides what
// is learned from; an engine knows no baselines, no schedules and no versions.
//
//   loss = -1/S * sum over states of [min(clip, w) * A * log pi(a|s) + entropy_weight * H(pi(.|s))],
//   w = pi(a|s) / mu(a|s), a constant of the gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/policy/adam.h"
#include "common/trajectory.h"

namespace emplace {

// One state to learn from: nodes before `step` are where the episode's actions put them, the others where it started.
struct Sample {
  size_t episode = 0;  // Index into UpdateInputs::episodes.
  int32_t step = 0;
};

struct UpdateInputs {
  std::span<const Trajectory> episodes;
  std::span<const Sample> samples;    // [S] those of one graph together, by step
  std::span<const float> advantages;  // [S]
  // [S] 1 where an older version chose the action, else 0: then the importance weight is exactly 1, whatever two
  // kernels round differently.
  std::span<const float> lags;
  double importance_clip = 1;
  double entropy_weight = 0;
  double gradient_clip = 0;  // Of the global norm.
  double learning_rate = 0;
};

struct StepOutcome {
  double loss = 0;
  double entropy = 0;          // Mean over states, nats.
  double mean_importance = 0;  // Before clipping.
  double gradient_norm = 0;    // Before clipping; not finite: the step was left out.
};

// Not thread-safe.
class UpdateEngine {
 public:
  virtual ~UpdateEngine() = default;

  // One optimizer step; leaves the new parameters in `values` [NumParameters].
  virtual StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) = 0;
  virtual AdamState SaveAdam() const = 0;
  // REQUIRES: as many moments as parameters.
  virtual void LoadAdam(const AdamState& state) = 0;
  virtual const std::string& device() const = 0;  // "cpu" or "cuda:0"
};

}  // namespace emplace
