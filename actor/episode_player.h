// What an actor plays: episodes of decisions (rollout.h), or trials of an evolution (trial_rollout.h). Knows no socket
// and no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/trajectory.h"
#include "policy/policy_weights.h"

namespace emplace {

// Not thread-safe.
class EpisodePlayer {
 public:
  virtual ~EpisodePlayer() = default;

  // Sets the weights for the next wave of episodes and those after it. REQUIRES: the policy fits the tasks, and is of
  // the same shape as any before.
  virtual void SetWeights(std::shared_ptr<const PolicyWeights> weights) = 0;
  // In lockstep: starts a wave of the episodes with these numbers, of the version of the weights; a wave in flight is
  // dropped. Episode i of a version is the same, bit for bit, whichever actor plays it and whichever other episodes are
  // in its wave. `seed` is the seed of the run. REQUIRES: SetWeights was called; there are 1 to
  // actor.episodes_in_flight numbers.
  virtual void StartLockstep(std::span<const uint32_t> indices, uint64_t seed) = 0;
  // Whether no episode is in flight.
  virtual bool idle() const = 0;
  // Goes on by one step. Outside of lockstep, where no episode is in flight, it first starts a wave of at most `most`,
  // above 0. Returns the episodes that ended with the step, without sequence numbers.
  virtual std::vector<Trajectory> Advance(size_t most) = 0;
};

}  // namespace emplace
