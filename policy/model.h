// Learning with a policy: logits of samples, and the gradient of what a loss makes of them. The loss itself, clipping
// and the optimizer are the learner's, the same for every kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "policy/player.h"

namespace emplace {

// What a model computes at once. Of a policy that is rewarded for each decision, one decision of an episode: the groups
// before it are where the episode's actions put them, the others where the episode started. Of one that decides all at
// once, an episode with all of its decisions.
struct Sample {
  size_t episode = 0;    // Index into the episodes that the samples are of.
  int32_t decision = 0;  // Its decision, or the first of them.
};

// Not thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  virtual const std::string& device() const = 0;  // "cpu" or "cuda:0"
  // Writes the logits of the samples' decisions, as a player gives them. values: [parameters].
  // REQUIRES: the actions of every sample are legal; samples of one graph are neighbours, which is fast.
  virtual void Forward(std::span<const float> values, std::span<const Trajectory> episodes,
                       std::span<const Sample> samples, Decisions& decisions) = 0;
  // Adds to gradient [parameters] the derivative of sum(logits * logit_gradient), for the samples that Forward was last
  // called with. Equal input gives equal bits. logit_gradient: as long as the logits; 0 for choices that are not
  // allowed.
  virtual void Backward(std::span<const float> logit_gradient, std::span<float> gradient) = 0;
};

}  // namespace emplace
