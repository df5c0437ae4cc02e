// A task for the part of a search that moves large groups: with an op for each group of a level, a move costs a
// fraction of what it costs on the whole graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/graph/placement.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class CoarseTask {
 public:
  // level: of whole.search_levels. REQUIRES: whole outlives this.
  CoarseTask(const PlacementTask& whole, size_t level);

  // The contracted graph (simulator/engine/contraction.h), with the levels from `level` on. It has what a search space
  // and list schedules need, and no groups for a policy.
  const PlacementTask& task() const { return task_; }
  // [ops of task()] each group of the level on the device that has most of its work, of those that may run the group.
  Placement Coarsened(std::span<const DeviceIndex> whole_placement) const;
  // [ops of the whole]
  Placement Expanded(std::span<const DeviceIndex> placement) const;

 private:
  const PlacementTask& whole_;
  const std::vector<GroupIndex>& group_of_op_;  // Of the whole's ops.
  const std::vector<uint8_t> allowed_;          // [groups * D], as of SearchLevel
  PlacementTask task_;
  std::vector<OpIndex> op_of_;  // [ops of the whole]
};

}  // namespace emplace
