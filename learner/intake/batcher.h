// The batch stage: puts the episodes of the next updates together and leaves out episodes that are too old.
//
// Each batch is used for one update, in order, and each update raises the version by one. So the version from which an
// update will start is known when its batch is made, and the lag of episodes is counted against that version.
//
// In lockstep a batch is all episodes of one version, sorted by their numbers, so that training is the same, bit for
// bit, with any number of actors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "common/trajectory.h"
#include "learner/actors/episode_dealer.h"
#include "learner/intake/episode.h"
#include "learner/intake/episode_batch.h"
#include "learner/ledger.h"
#include "learner/stage_clock.h"

namespace emplace {

struct Batch {
  PolicyVersion version = 0;             // The version from which the batch's update starts.
  std::vector<Trajectory> trajectories;  // Never empty.
  BatchStats stats;
};

struct BatchPlan {
  PolicyVersion first = 0;  // The version that the first batch's update starts from.
  PolicyVersion end = 0;    // The version after the last update.
  int64_t episodes = 1;     // Number of episodes in a batch.
  int64_t max_lag = 0;      // In versions, see IsStale; lockstep does not use it.
};

// Not thread-safe.
class Batcher {
 public:
  // Returns the oldest episode that has arrived; waits for one for at most the given time. Next throws what it throws.
  using Source = std::function<std::optional<Episode>(std::chrono::milliseconds)>;

  // `clock` counts the wait for episodes as waiting. `dealer` is nullptr unless training is in lockstep; it starts with
  // the plan's first version and deals as many episodes as a batch has. REQUIRES: ledger, clock and dealer outlive the
  // batcher.
  Batcher(Source source, const BatchPlan& plan, Ledger& ledger, StageClock& clock, EpisodeDealer* dealer = nullptr);

  // Returns the next batch. nullopt: all batches have been made, or `stop` was requested. The ledger counts episodes
  // that go into no batch as stale, also those of a batch that is not full when `stop` is requested.
  std::optional<Batch> Next(const std::stop_token& stop);

 private:
  bool Admits(const Trajectory& trajectory);

  const Source source_;
  const BatchPlan plan_;
  Ledger& ledger_;
  StageClock& clock_;
  EpisodeDealer* const dealer_;
  PolicyVersion next_;                 // The version of the next batch.
  PolicyVersion newest_received_ = 0;  // The newest version of any episode so far.
};

// Counts the episodes of a batch as stale, since no update will use it.
void CountStale(const Batch& batch, Ledger& ledger);

}  // namespace emplace
