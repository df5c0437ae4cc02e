// Evaluates moves from one placement, the base. An evaluation costs far less than a simulation: it starts from the
// base's run, is given up as soon as the search is likely not to take the move, and computes peak memory only where
// that could exceed a device's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/move.h"

namespace emplace {

// Not thread-safe.
class TrialEvaluator {
 public:
  // REQUIRES: task outlives it.
  explicit TrialEvaluator(const PlacementTask& task);

  // Returns the score of the new base.
  SearchScore SetBase(std::span<const DeviceIndex> placement);
  // As above, with a score that is known.
  void SetBase(std::span<const DeviceIndex> placement, const SearchScore& score);
  const SearchScore& base_score() const { return base_score_; }
  // The score of the base with `move`, if the search may take it: if it lacks fewer bytes of memory than the base, or
  // as few with a makespan of limit_us at most. REQUIRES: there is a base, and the move is legal.
  std::optional<SearchScore> Try(const Move& move, double limit_us);

  const Placement& base() const { return placement_; }

 private:
  // Bytes that the simulated peaks lack. REQUIRES: the simulator's last call was for placement_.
  int64_t BytesOver();
  std::optional<SearchScore> TryPlacement(double limit_us);
  void Assign(const OpMove& to);
  int64_t MostBytes(size_t op) const;

  const PlacementTask& task_;
  Simulator simulator_;
  Placement placement_;  // [num_ops] the base, or the base with a move while that is tried
  SearchScore base_score_;
  // [D] limits of the peaks under placement_: what is resident, and all bytes of all ops, as if none were released.
  std::vector<int64_t> least_bytes_;
  std::vector<int64_t> most_bytes_;
  std::vector<int64_t> peak_bytes_;  // [D] scratch
  Move undo_;                        // Scratch.
};

}  // namespace emplace
