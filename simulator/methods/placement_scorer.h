// The score by which searches and schedulers compare placements.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The score of a simulated placement. Less is better: fewer bytes over the memory first, then a shorter makespan.
struct SearchScore {
  int64_t bytes_over = 0;  // Bytes over the memory, summed over devices.
  double makespan_us = 0;

  auto operator<=>(const SearchScore&) const = default;
};

// The bytes over the memory, summed over devices. bytes, memory_bytes: [D]
int64_t TotalBytesOver(std::span<const int64_t> bytes, std::span<const int64_t> memory_bytes);

// Not thread-safe. Its constructor allocates, and the first SetPriority.
class PlacementScorer {
 public:
  // orders: as of Simulator. REQUIRES: task outlives it.
  explicit PlacementScorer(const PlacementTask& task, const DeviceOrders& orders = {});

  // From now on devices choose among the ops that are ready by this list of all ops, as of Simulator::SetPriority.
  void SetPriority(std::span<const OpIndex> first_to_last) { simulator_.SetPriority(first_to_last); }
  // Makes one simulator run. REQUIRES: placement [num_ops] is legal.
  SearchScore Score(std::span<const DeviceIndex> placement);
  // [D] peak memory of the placement that was scored last.
  std::span<const int64_t> peak_bytes() const { return peak_bytes_; }

 private:
  const PlacementTask& task_;
  Simulator simulator_;
  std::vector<int64_t> peak_bytes_;
};

}  // namespace emplace
