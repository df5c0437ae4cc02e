// The batch stage: puts episodes together for the updates, ahead of them, and leaves out those that are too old.
//
// In lockstep a batch is all episodes of one version, in the order of their numbers, whoever brought them and when; so
// training is the same bit for bit with any number of actors.
//
// Each batch is trained on once, in order, and each update raises the version by one. So a batch knows, long before its
// turn, the version that its update will start from, and the lag of its episodes is counted against that one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "common/trajectory.h"
#include "learner/intake/episode.h"
#include "learner/intake/episode_batch.h"
#include "learner/intake/episode_dealer.h"
#include "learner/intake/ledger.h"
#include "learner/stage_clock.h"

namespace emplace {

struct Batch {
  PolicyVersion version = 0;             // That its update starts from.
  std::vector<Trajectory> trajectories;  // Never empty.
  BatchStats stats;
};

struct BatchPlan {
  PolicyVersion first = 0;  // The version that the first batch's update starts from.
  PolicyVersion end = 0;    // The version after the last update.
  int64_t episodes = 1;     // In a batch.
  int64_t max_lag = 0;      // Versions; see IsStale. Lockstep needs none.
};

// For one thread.
class Batcher {
 public:
  // The oldest episode that has arrived, waiting for one for at most so long. May throw: then Next does.
  using Source = std::function<std::optional<Episode>(std::chrono::milliseconds)>;

  // Waiting for episodes shows in `clock`. `dealer` is for lockstep, else nullptr; it starts with the plan's first
  // version and deals as many episodes as a batch has. REQUIRES: ledger, clock and dealer outlive it.
  Batcher(Source source, const BatchPlan& plan, Ledger& ledger, StageClock& clock, EpisodeDealer* dealer = nullptr);

  // The next batch. nullopt: all have been made, or `stop` was requested; what a batch has by then counts as stale,
  // like what does not go into one.
  std::optional<Batch> Next(const std::stop_token& stop);

 private:
  bool Admits(const Trajectory& trajectory);

  const Source source_;
  const BatchPlan plan_;
  Ledger& ledger_;
  StageClock& clock_;
  EpisodeDealer* const dealer_;
  PolicyVersion next_;                 // The version of the next batch.
  PolicyVersion newest_received_ = 0;  // That any episode has brought so far.
};

// Counts the episodes of a batch that no update is left for.
void CountStale(const Batch& batch, Ledger& ledger);

}  // namespace emplace
