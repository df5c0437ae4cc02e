#include "tests/support/random_task.h"

#include <utility>
#include <vector>

#include "simulator/task/group_graph.h"
#include "tests/support/random_graph.h"

namespace emplace {

RandomTaskSource RandomSource(Rng& rng, const RandomTaskOptions& options) {
  const RandomGraphOptions shape = {.max_ops = options.max_ops,
                                    .max_devices = options.max_devices,
                                    .parameters = options.parameters,
                                    .link_model = options.link_model};
  Cluster cluster = RandomCluster(rng, shape);
  // The first device runs whatever is restricted, so that no op is left without one.
  const std::string kind = cluster.devices.front().kind;
  for (Device& device : cluster.devices) {
    if (options.memory_bytes > 0) device.memory_bytes = options.memory_bytes;
  }
  std::vector<Op> ops = RandomGraph(rng, shape).ops();
  for (Op& op : ops) {
    if (rng.Uniform() < options.restricted) op.allowed = {kind};
  }
  return {OpGraph("random", std::move(ops)), std::move(cluster)};
}

PlacementTask RandomTask(Rng& rng, const RandomTaskOptions& options) {
  const RandomTaskSource source = RandomSource(rng, options);
  return PlacementTask::Make(source.graph, source.cluster, options.max_groups);
}

std::vector<PlacementTask> RandomTasks(Rng& rng, size_t count, int32_t num_devices, const RandomTaskOptions& options) {
  std::vector<PlacementTask> tasks;
  while (tasks.size() < count) {
    PlacementTask task = RandomTask(rng, options);
    if (task.groups.num_devices == num_devices) tasks.push_back(std::move(task));
  }
  return tasks;
}

DeviceIndex RandomAllowedDevice(const GroupGraph& graph, int32_t node, Rng& rng) {
  std::vector<double> weights;
  for (int32_t d = 0; d < graph.num_devices; ++d) {
    weights.push_back(graph.allowed[static_cast<size_t>(node * graph.num_devices + d)]);
  }
  return static_cast<DeviceIndex>(rng.Categorical(weights));
}

std::vector<uint8_t> RandomGroups(const GroupGraph& graph, Rng& rng) {
  std::vector<uint8_t> groups;
  for (int32_t group = 0; group < graph.num_groups; ++group) {
    groups.push_back(static_cast<uint8_t>(RandomAllowedDevice(graph, group, rng)));
  }
  return groups;
}

Placement RandomGroupPlacement(const PlacementTask& task, Rng& rng) {
  Placement placement(static_cast<size_t>(task.sim.num_ops));
  task.Expand(RandomGroups(task.groups, rng), placement);
  return placement;
}

}  // namespace emplace
