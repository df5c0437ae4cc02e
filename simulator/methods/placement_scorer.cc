#include "simulator/methods/placement_scorer.h"

#include <algorithm>

namespace emplace {

int64_t TotalBytesOver(std::span<const int64_t> bytes, std::span<const int64_t> memory_bytes) {
  int64_t over = 0;
  for (size_t d = 0; d < bytes.size(); ++d) over += std::max<int64_t>(0, bytes[d] - memory_bytes[d]);
  return over;
}

PlacementScorer::PlacementScorer(const PlacementTask& task, const DeviceOrders& orders)
    : task_(task), simulator_(task.sim, orders), peak_bytes_(static_cast<size_t>(task.sim.num_devices)) {}

SearchScore PlacementScorer::Score(std::span<const DeviceIndex> placement) {
  SearchScore score;
  score.makespan_us = simulator_.MakespanAndPeak(placement, peak_bytes_);
  score.bytes_over = TotalBytesOver(peak_bytes_, task_.sim.memory_bytes);
  return score;
}

}  // namespace emplace
