// Random placement tasks: a random graph, grouped, on a random cluster. Some ops may run on some device kinds only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/graph/placement.h"
#include "simulator/task/group_graph.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct RandomTaskOptions {
  int32_t max_ops = 60;
  int32_t max_devices = 4;
  int32_t max_groups = 12;
  int32_t parameters = 0;    // As of RandomGraphOptions.
  double restricted = 0;     // Share of ops that may run on one device kind only.
  int64_t memory_bytes = 0;  // Memory of every device; 0: random, and sometimes too little.
  LinkModel link_model = LinkModel::kShared;
};

// The graph and the cluster of a task, for tests that compare the task with them.
struct RandomTaskSource {
  OpGraph graph;
  Cluster cluster;
};
RandomTaskSource RandomSource(Rng& rng, const RandomTaskOptions& options = {});
PlacementTask RandomTask(Rng& rng, const RandomTaskOptions& options = {});
// So many tasks on machines with so many devices: a policy is for one number of devices.
std::vector<PlacementTask> RandomTasks(Rng& rng, size_t count, int32_t num_devices, const RandomTaskOptions& options);

// Draws one of the devices that the group may use, uniformly.
DeviceIndex RandomAllowedDevice(const GroupGraph& graph, int32_t node, Rng& rng);
// [n] such a device for each group.
std::vector<uint8_t> RandomGroups(const GroupGraph& graph, Rng& rng);
// [num_ops] the device of each op when each group is on such a device.
Placement RandomGroupPlacement(const PlacementTask& task, Rng& rng);

}  // namespace emplace
