#include "simulator/methods/placement_scorer.h"

#include <algorithm>

namespace emplace {

PlacementScorer::PlacementScorer(const PlacementTask& task, const DeviceOrders& orders)
    : task_(task), simulator_(task.sim, orders), peak_bytes_(static_cast<size_t>(task.sim.num_devices)) {}

SearchScore PlacementScorer::Score(std::span<const DeviceIndex> placement) {
  SearchScore score;
  score.makespan_us = simulator_.MakespanAndPeak(placement, peak_bytes_);
  for (size_t d = 0; d < peak_bytes_.size(); ++d) {
    score.bytes_over += std::max<int64_t>(0, peak_bytes_[d] - task_.sim.memory_bytes[d]);
  }
  return score;
}

}  // namespace emplace
