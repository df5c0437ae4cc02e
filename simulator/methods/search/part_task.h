// A task on a part of a machine's devices. Where links are slow, a graph may run faster on fewer devices than there
// are, and a method that places op by op hardly ever leaves one out.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulator/graph/placement.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// So many devices, ascending, that are good together: beginning with the one on which the graph takes the least time,
// and then one after the other that is fast and near those before. nullopt if some ops that must stay together may run
// on none of them. REQUIRES: 1 <= count <= D.
std::optional<std::vector<DeviceIndex>> DevicesTogether(const PlacementTask& task, int32_t count);

class PartTask {
 public:
  // REQUIRES: devices ascend.
  PartTask(const PlacementTask& whole, std::vector<DeviceIndex> devices);

  // It has what list schedules need, and no groups for a policy.
  const PlacementTask& task() const { return task_; }
  // On the whole's devices.
  Placement Expanded(std::span<const DeviceIndex> placement) const;

 private:
  const std::vector<DeviceIndex> devices_;
  PlacementTask task_;
};

}  // namespace emplace
