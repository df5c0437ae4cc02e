// What a search moves: nested groups of ops at several levels, from the smallest sets that have to stay together up to
// a few large groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "common/threads/stop.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The groups of one level. g groups, D devices.
struct SearchLevel {
  static constexpr size_t kMostInFamily = 20;

  int32_t num_devices = 0;
  std::vector<GroupIndex> group_of_op;  // [num_ops]
  Csr ops;                              // [g] ops of each group, ascending
  Csr neighbours;                       // [g] groups that it exchanges tensors with, by decreasing bytes
  std::vector<uint8_t> allowed;         // [g * D] Allowed; every row has a 1
  std::vector<GroupIndex> movable;      // Groups that may run on more than one device.
  // For each free source (simulator/engine/free_sources.h), such as a parameter: the movable groups that hold or read
  // it, ascending, if they are two to kMostInFamily. These often are a layer's ops in the forward and in the backward
  // pass.
  std::vector<std::vector<GroupIndex>> families;

  int32_t num_groups() const { return ops.rows(); }
  // Whether every op of the group may run there.
  bool Allowed(GroupIndex group, DeviceIndex device) const {
    return allowed[static_cast<size_t>(group) * static_cast<size_t>(num_devices) + static_cast<size_t>(device)] == 1;
  }
};

// Immutable once built; any thread may read one.
class SearchSpace {
 public:
  // with_columns: whether to make columns, which takes about as long as the levels. Throws Stopped once `stop` says so.
  // REQUIRES: task has levels, and outlives the space.
  explicit SearchSpace(const PlacementTask& task, bool with_columns = false, const StopSignal& stop = {});

  const PlacementTask& task() const { return task_; }
  // From fine to coarse.
  const std::vector<SearchLevel>& levels() const { return levels_; }
  // Beside each level but the finest, from fine to coarse, the columns (columns.h): about as many as the level has
  // groups, without families. Empty if not wanted.
  const std::vector<SearchLevel>& columns() const { return columns_; }
  // The finest level with at most `groups` groups; the coarsest one if none has as few.
  size_t LevelWith(int32_t groups) const;
  // Whether there is more than one placement.
  bool any() const { return !levels_[0].movable.empty(); }

 private:
  const PlacementTask& task_;
  std::vector<SearchLevel> levels_;
  std::vector<SearchLevel> columns_;
};

}  // namespace emplace
