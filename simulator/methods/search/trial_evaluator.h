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
#include "simulator/methods/search/move_evaluator.h"

namespace emplace {

class TrialEvaluator : public MoveEvaluator {
 public:
  // REQUIRES: task outlives it.
  explicit TrialEvaluator(const PlacementTask& task);

  SearchScore SetBase(std::span<const DeviceIndex> placement) override;
  void SetBase(std::span<const DeviceIndex> placement, const SearchScore& score) override;
  std::optional<SearchScore> Try(const Move& move, double limit_us) override;
  const Placement& base() const override { return placement_; }

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
