#include "simulator/environment/simulated_measure.h"

#include <algorithm>

#include "simulator/engine/memory/peak_memory.h"

namespace emplace {

SimulatedMeasure::SimulatedMeasure(const PlacementTask& task)
    : task_(task),
      simulator_(task.sim),
      peak_bytes_(static_cast<size_t>(task.sim.num_devices)),
      group_bytes_(static_cast<size_t>(task.groups.num_groups)),
      placed_bytes_(peak_bytes_.size()) {
  const std::vector<int64_t> most_bytes = MostBytesOfOps(task.sim);
  for (size_t o = 0; o < most_bytes.size(); ++o) {
    group_bytes_[static_cast<size_t>(task.group_of_op[o])] += static_cast<double>(most_bytes[o]);
  }
}

Measurement SimulatedMeasure::Run(std::span<const uint8_t> groups, std::span<const DeviceIndex> ops) {
  Measurement measured;
  if (FitsAnyhow(groups)) {
    measured.makespan_us = simulator_.Makespan(ops);
    std::ranges::fill(peak_bytes_, 0);
  } else {
    measured.makespan_us = simulator_.MakespanAndPeak(ops, peak_bytes_);
    measured.feasible = task_.sim.Fits(peak_bytes_);
  }
  measured.peak_bytes = peak_bytes_;
  return measured;
}

bool SimulatedMeasure::FitsAnyhow(std::span<const uint8_t> groups) {
  std::ranges::fill(placed_bytes_, 0.0);
  for (size_t group = 0; group < groups.size(); ++group) placed_bytes_[groups[group]] += group_bytes_[group];
  for (size_t d = 0; d < placed_bytes_.size(); ++d) {
    if (placed_bytes_[d] > static_cast<double>(task_.sim.memory_bytes[d])) return false;
  }
  return true;
}

std::unique_ptr<Measure> MakeSimulatedMeasure(const PlacementTask& task) {
  return std::make_unique<SimulatedMeasure>(task);
}

}  // namespace emplace
