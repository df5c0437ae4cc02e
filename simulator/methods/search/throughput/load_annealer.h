// Annealing on the loads of devices (max_load.h), for throughput_search.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/csr.h"
#include "common/rng.h"
#include "common/threads/stop.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/throughput/load_state.h"

namespace emplace {

// A placement as the objective sees it.
struct LoadCandidate {
  Placement placement;
  int64_t bytes_over = 0;
  double load_us = 0;
  std::string found_by;

  bool operator<(const LoadCandidate& other) const;  // Better, by more than rounding.
};

// Scores placements in the order in which they will run, which their memory depends on. Not thread-safe.
class LoadScorer {
 public:
  // order: as of MethodOptions. REQUIRES: task outlives it.
  LoadScorer(const PlacementTask& task, std::string order);

  int64_t BytesOver(std::span<const DeviceIndex> placement);
  LoadCandidate Scored(Placement placement, std::string found_by);

 private:
  const PlacementTask& task_;
  const std::string order_;
  PlacementScorer scorer_;
  std::optional<ScheduleGraph> graph_;  // Where an order is asked for.
};

// The annealing of one thread.
class LoadAnnealer {
 public:
  // order: as of MethodOptions. REQUIRES: task has levels and outlives this.
  LoadAnnealer(const PlacementTask& task, const std::string& order, const StopSignal& stop);

  // One round from `best`, which it replaces if it finds something better that fits the memory. Returns the moves made,
  // of which there are `most` at most: as far as it goes, a round that ends early is the same.
  int64_t Round(uint64_t seed, int64_t moves, int64_t most, LoadCandidate& best);

 private:
  bool Fits();
  double MaxLoad() const;
  // A smooth stand-in for the greatest load: the sum of loads to a high power, 16 first and 64 in the end.
  double Energy() const;
  int32_t RandomSet(Rng& rng) const;
  int32_t SetToMove(Rng& rng) const;
  DeviceIndex Target(Rng& rng, int32_t set) const;
  // Moves the sets of a group that are not there; false: not all may go, or there is no room.
  bool MoveGroup(std::span<const int32_t> sets, DeviceIndex to);
  void Try(Rng& rng, double heat);
  void Undo();

  const PlacementTask& task_;
  const StopSignal stop_;
  LoadState state_;
  LoadScorer scorer_;
  const bool always_fits_;
  bool simulated_ = false;                          // Since the last look at the stop.
  std::vector<Csr> levels_;                         // By level, then group: its sets.
  std::vector<std::vector<int32_t>> group_of_set_;  // By level: [S]
  double reference_us_ = 1;
  int doublings_ = 4;  // The power is 2 to that.
  double energy_ = 0;
  double least_us_ = 0;
  std::optional<Placement> found_;
  std::vector<std::pair<int32_t, DeviceIndex>> moved_;  // By the last try, with where the sets were.
};

}  // namespace emplace
