// A task whose ops are groups of another task's ops: placing it costs a fraction of what it costs to place the whole.
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
  // levels: nested groupings of the whole's ops, from fine to coarse, of which the first becomes ops. Groups of the
  // first are numbered as those of SearchLevels. REQUIRES: there is a level; whole outlives this.
  CoarseTask(const PlacementTask& whole, std::vector<std::vector<GroupIndex>> levels);

  // The contracted graph (simulator/engine/contraction.h), with these levels. It has what a search space
  // and list schedules need, and no groups for a policy.
  const PlacementTask& task() const { return task_; }
  // [ops of the whole] the op of task() that each is part of.
  std::span<const OpIndex> op_of() const { return op_of_; }
  // [ops of task()] each group on the device that has most of its work, of those that may run the group.
  Placement Coarsened(std::span<const DeviceIndex> whole_placement) const;
  // [ops of the whole]
  Placement Expanded(std::span<const DeviceIndex> placement) const;

 private:
  const PlacementTask& whole_;
  const std::vector<GroupIndex> group_of_op_;  // Of the whole's ops.
  const std::vector<uint8_t> allowed_;         // [groups * D], as of SearchLevel
  PlacementTask task_;
  std::vector<OpIndex> op_of_;  // [ops of the whole]
};

}  // namespace emplace
