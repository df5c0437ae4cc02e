// What searches and schedulers compare placements by.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/placement_task.h"
#include "simulator/simulator.h"

namespace emplace {

// Of one simulated placement. Less is better: what fits the memory comes before what is fast.
struct SearchScore {
  int64_t bytes_over = 0;  // Over the memory, summed over devices.
  double makespan_us = 0;

  auto operator<=>(const SearchScore&) const = default;
};

// Not thread-safe. Allocates in its constructor only.
class PlacementScorer {
 public:
  // REQUIRES: task outlives it.
  explicit PlacementScorer(const PlacementTask& task);

  // One simulator run. REQUIRES: placement [num_ops] is legal.
  SearchScore Score(std::span<const DeviceIndex> placement);
  // Of the last one scored: [D].
  std::span<const int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  const PlacementTask& task_;
  Simulator simulator_;
  std::vector<int64_t> peak_bytes_;
};

}  // namespace emplace
