// Evaluates moves from one placement, the base. An evaluation costs far less than a simulation: it starts from the
// base's run, is given up as soon as the search is likely not to take the move, and computes peak memory only where
// that could exceed a device's memory. The base may have a priority, by which devices then choose their ops under the
// moves, too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/moves/move.h"

namespace emplace {

// Whether a search may take a move: if it lacks fewer bytes of memory than the base, or as few with a makespan of
// limit_us at most.
inline bool MayTake(const SearchScore& score, const SearchScore& base, double limit_us) {
  return score <= SearchScore{.bytes_over = base.bytes_over, .makespan_us = limit_us};
}

// Not thread-safe: each thread needs its own.
class TrialEvaluator {
 public:
  // REQUIRES: task outlives it.
  explicit TrialEvaluator(const PlacementTask& task);

  // Returns the score of the new base. REQUIRES (both): placement is legal. Once a base has had a priority, all have.
  SearchScore SetBase(std::span<const DeviceIndex> placement, const SharedPriority& priority);
  // As above, with a score that is known.
  void SetBase(std::span<const DeviceIndex> placement, const SharedPriority& priority, const SearchScore& score);
  // The score of the base with `move`, if MayTake. when: as of Simulator::Try. REQUIRES: there is a base, and the move
  // is legal.
  std::optional<SearchScore> Try(const Move& move, double limit_us, GiveUp when = GiveUp::kWhenLikely);
  const Placement& base() const { return placement_; }
  // Of the base. REQUIRES: the last call was SetBase.
  const Timeline& timeline() const { return simulator_.timeline(); }
  // [num_ops] as Simulator's. REQUIRES: there is a base.
  std::span<const double> LatestStartsUs() const { return simulator_.LatestStartsUs(); }

 private:
  // Bytes that the simulated peaks lack. REQUIRES: the simulator's last call was for placement_.
  int64_t PeakBytesOver();
  std::optional<SearchScore> TryPlacement(double limit_us, GiveUp when);
  void Assign(const OpMove& to);

  const PlacementTask& task_;
  Simulator simulator_;
  Placement placement_;  // [num_ops] the base, or the base with a move while that is tried
  SharedPriority priority_;
  SearchScore base_score_;
  // [D] limits of the peaks under placement_: what is resident, and the sum of op_bytes_.
  std::vector<int64_t> least_bytes_;
  std::vector<int64_t> most_bytes_;
  const std::vector<int64_t> op_bytes_;  // [num_ops] MostBytesOfOps
  std::vector<int64_t> peak_bytes_;      // [D] scratch
  Move undo_;                            // Scratch.
  std::vector<OpIndex> changed_;         // The ops of the move that is tried.
};

}  // namespace emplace
