// When each group starts in the simulated run of a placement, as a feature of its node (PlacetoShape::start_times). The
// published code of Placeto has this feature, its paper has not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Of one task. Simulates each placement it is asked for. Not thread-safe.
class StartTimes {
 public:
  // REQUIRES: the task outlives this.
  explicit StartTimes(const PlacementTask& task);

  // Writes for each group [n] when the first of its ops starts, over the makespan: in [0, 1], 0 where the step takes no
  // time. groups: [n] a legal placement.
  void Of(std::span<const uint8_t> groups, std::span<float> times);

 private:
  const PlacementTask& task_;
  Simulator simulator_;
  std::vector<DeviceIndex> ops_;  // [num_ops] scratch
  std::vector<double> first_us_;  // [n] scratch
};

}  // namespace emplace
