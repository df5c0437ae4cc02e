// The batch stage in lockstep: a batch is all episodes of one version, in the order of their numbers, whoever brought
// them and when. So training is the same bit for bit with any number of actors.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "learner/intake/batcher.h"
#include "learner/intake/episode_dealer.h"
#include "learner/intake/ledger.h"
#include "learner/stage_clock.h"

namespace emplace {

// For one thread.
class LockstepBatcher {
 public:
  // As Batcher's; the plan's max_lag is not needed. REQUIRES: `dealer` starts with the plan's first version and deals as
  // many episodes as a batch has; dealer, ledger and clock outlive it.
  LockstepBatcher(Batcher::Source source, const BatchPlan& plan, EpisodeDealer& dealer, Ledger& ledger, StageClock& clock);

  // The next batch. nullopt: all have been made, or `stop` was requested; what a batch has by then counts as stale, like
  // second copies of an episode.
  std::optional<Batch> Next(const std::stop_token& stop);

 private:
  const Batcher::Source source_;
  const BatchPlan plan_;
  EpisodeDealer& dealer_;
  Ledger& ledger_;
  StageClock& clock_;
  PolicyVersion next_;  // The version of the next batch.
};

}  // namespace emplace
