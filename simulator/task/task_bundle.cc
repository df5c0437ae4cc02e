#include "simulator/task/task_bundle.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

Error TaskError(const std::string& what) { return BadInput(StrCat("task: ", what)); }

template <typename T>
T Scalar(const ArrayBundle& bundle, const std::string& name) {
  const std::vector<T> values = bundle.Get<T>(name);
  if (values.size() != 1) throw TaskError(StrCat("'", name, "' has ", values.size(), " entries, expected 1"));
  return values[0];
}

void PutRoutes(ArrayBundle& bundle, const Routes& routes) {
  bundle.Put("sim.routes.num_channels", std::vector<int32_t>{routes.num_channels});
  bundle.Put("sim.routes.channels.begin", routes.channels.begin);
  bundle.Put("sim.routes.channels.items", routes.channels.items);
  bundle.Put("sim.routes.latency_us", routes.latency_us);
  bundle.Put("sim.routes.bandwidth_bytes_per_us", routes.bandwidth_bytes_per_us);
}

Routes GetRoutes(const ArrayBundle& bundle) {
  Routes routes;
  routes.num_channels = Scalar<int32_t>(bundle, "sim.routes.num_channels");
  routes.channels.begin = bundle.Get<int32_t>("sim.routes.channels.begin");
  routes.channels.items = bundle.Get<int32_t>("sim.routes.channels.items");
  routes.latency_us = bundle.Get<double>("sim.routes.latency_us");
  routes.bandwidth_bytes_per_us = bundle.Get<double>("sim.routes.bandwidth_bytes_per_us");
  return routes;
}

// That every group has one, and none is negative or no number.
template <typename T>
void CheckSizes(const std::string& name, const std::vector<T>& values, int32_t groups) {
  if (values.size() != static_cast<size_t>(groups)) {
    throw TaskError(StrCat("'", name, "' has ", values.size(), " entries, expected ", groups));
  }
  for (const T value : values) {
    if (!(value >= 0) || !std::isfinite(static_cast<double>(value))) {
      throw TaskError(StrCat("'", name, "' holds ", value, ", expected a number from 0"));
    }
  }
}

void CheckParents(const GroupGraph& graph) {
  const std::vector<int32_t>& begin = graph.parents.begin;
  if (begin.size() != static_cast<size_t>(graph.num_groups) + 1 || begin.front() != 0 ||
      !std::is_sorted(begin.begin(), begin.end()) || static_cast<size_t>(begin.back()) != graph.parents.items.size()) {
    throw TaskError("'groups.parents': offsets do not rise from 0 to the number of entries");
  }
  for (int32_t group = 0; group < graph.num_groups; ++group) {
    int32_t previous = -1;
    for (const int32_t parent : graph.parents.Row(group)) {
      if (parent <= previous || parent >= group) {
        throw TaskError(
            StrCat("'groups.parents': group ", group, " has parent ", parent, ", expected ascending lower groups"));
      }
      previous = parent;
    }
  }
}

void CheckAllowed(const GroupGraph& graph) {
  const auto devices = static_cast<size_t>(graph.num_devices);
  if (graph.allowed.size() != static_cast<size_t>(graph.num_groups) * devices)
    throw TaskError("'groups.allowed' has another size");
  for (size_t group = 0; group < static_cast<size_t>(graph.num_groups); ++group) {
    const std::span<const uint8_t> row = graph.AllowedRow(group);
    if (*std::max_element(row.begin(), row.end()) != 1) {
      throw TaskError(StrCat("'groups.allowed': group ", group, " may run nowhere, or holds other than 0 and 1"));
    }
  }
}

SimGraph GetSim(const ArrayBundle& bundle) {
  const std::vector<int32_t> sizes = bundle.Get<int32_t>("sim.sizes");
  const std::vector<double> machine = bundle.Get<double>("sim.machine");
  if (sizes.size() != 4 || machine.size() != 5) throw TaskError("'sim.sizes' or 'sim.machine' has another size");
  SimGraph sim;
  sim.num_ops = sizes[0];
  sim.num_devices = sizes[1];
  if (sizes[2] < 0 || sizes[2] > static_cast<int32_t>(LinkModel::kTopology)) {
    throw TaskError(StrCat("link model ", sizes[2], " is unknown"));
  }
  sim.link_model = static_cast<LinkModel>(sizes[2]);
  if (sizes[3] < 0 || sizes[3] > static_cast<int32_t>(MemoryRule::kPlaceto)) {
    throw TaskError(StrCat("memory rule ", sizes[3], " is unknown"));
  }
  sim.memory_rule = static_cast<MemoryRule>(sizes[3]);
  if (sim.num_devices > kMaxDevices)
    throw TaskError(StrCat(sim.num_devices, " devices, expected at most ", kMaxDevices));
  sim.cost_us = bundle.Get<double>("sim.cost_us");
  sim.tensor_begin = bundle.Get<int32_t>("sim.tensor_begin");
  sim.tensor_bytes = bundle.Get<int64_t>("sim.tensor_bytes");
  sim.tensor_held_bytes = bundle.Get<int64_t>("sim.tensor_held_bytes");
  sim.tensor_consumers.begin = bundle.Get<int32_t>("sim.consumers.begin");
  sim.tensor_consumers.items = bundle.Get<int32_t>("sim.consumers.items");
  sim.num_inputs = bundle.Get<int32_t>("sim.num_inputs");
  sim.output_bytes = bundle.Get<int64_t>("sim.output_bytes");
  sim.param_bytes = bundle.Get<int64_t>("sim.param_bytes");
  sim.temp_bytes = bundle.Get<int64_t>("sim.temp_bytes");
  sim.staying_bytes = bundle.Get<int64_t>("sim.staying_bytes");
  sim.op_overhead_us = machine[0];
  sim.bandwidth_bytes_per_us = machine[1];
  sim.transfer_latency_us = machine[2];
  sim.transfer_overhead_us = machine[3];
  sim.blocking = machine[4];
  sim.memory_bytes = bundle.Get<int64_t>("sim.memory_bytes");
  if (sim.link_model == LinkModel::kTopology) sim.routes = GetRoutes(bundle);
  sim.Validate();
  return sim;
}

GroupGraph GetGroups(const ArrayBundle& bundle, const SimGraph& sim) {
  GroupGraph groups;
  groups.num_groups = Scalar<int32_t>(bundle, "groups.count");
  if (groups.num_groups < 1 || groups.num_groups > sim.num_ops) {
    throw TaskError(StrCat("'groups.count' is ", groups.num_groups, ", expected 1..", sim.num_ops));
  }
  groups.num_devices = sim.num_devices;
  groups.cost_us = bundle.Get<double>("groups.cost_us");
  groups.output_bytes = bundle.Get<int64_t>("groups.output_bytes");
  groups.memory_bytes = bundle.Get<int64_t>("groups.memory_bytes");
  groups.parents.begin = bundle.Get<int32_t>("groups.parents.begin");
  groups.parents.items = bundle.Get<int32_t>("groups.parents.items");
  groups.allowed = bundle.Get<uint8_t>("groups.allowed");
  CheckSizes("groups.cost_us", groups.cost_us, groups.num_groups);
  CheckSizes("groups.output_bytes", groups.output_bytes, groups.num_groups);
  CheckSizes("groups.memory_bytes", groups.memory_bytes, groups.num_groups);
  CheckParents(groups);
  CheckAllowed(groups);
  groups.DeriveChildren();
  return groups;
}

// A group may only be sent where every op of it may run: the simulator relies on it.
void CheckGroupOfOp(const PlacementTask& task) {
  if (task.group_of_op.size() != static_cast<size_t>(task.sim.num_ops))
    throw TaskError("'group_of_op' has another size");
  for (size_t o = 0; o < task.group_of_op.size(); ++o) {
    const GroupIndex group = task.group_of_op[o];
    if (group < 0 || group >= task.groups.num_groups) throw TaskError(StrCat("'group_of_op' holds ", group));
    for (size_t d = 0; d < static_cast<size_t>(task.sim.num_devices); ++d) {
      const bool may_run = task.sim.MayRun(static_cast<OpIndex>(o), static_cast<DeviceIndex>(d));
      if (task.groups.Allowed(static_cast<size_t>(group), d) && !may_run) {
        throw TaskError(StrCat("'groups.allowed': group ", group, " may go to device ", d, ", op ", o, " may not"));
      }
    }
  }
}

}  // namespace

ArrayBundle ToBundle(const PlacementTask& task) {
  ArrayBundle bundle;
  bundle.PutText("name", task.name);
  bundle.Put("sim.sizes",
             std::vector<int32_t>{task.sim.num_ops, task.sim.num_devices, static_cast<int32_t>(task.sim.link_model),
                                  static_cast<int32_t>(task.sim.memory_rule)});
  bundle.Put("sim.cost_us", task.sim.cost_us);
  bundle.Put("sim.tensor_begin", task.sim.tensor_begin);
  bundle.Put("sim.tensor_bytes", task.sim.tensor_bytes);
  bundle.Put("sim.tensor_held_bytes", task.sim.tensor_held_bytes);
  bundle.Put("sim.consumers.begin", task.sim.tensor_consumers.begin);
  bundle.Put("sim.consumers.items", task.sim.tensor_consumers.items);
  bundle.Put("sim.num_inputs", task.sim.num_inputs);
  bundle.Put("sim.output_bytes", task.sim.output_bytes);
  bundle.Put("sim.param_bytes", task.sim.param_bytes);
  bundle.Put("sim.temp_bytes", task.sim.temp_bytes);
  bundle.Put("sim.staying_bytes", task.sim.staying_bytes);
  bundle.Put("sim.machine",
             std::vector<double>{task.sim.op_overhead_us, task.sim.bandwidth_bytes_per_us, task.sim.transfer_latency_us,
                                 task.sim.transfer_overhead_us, task.sim.blocking});
  bundle.Put("sim.memory_bytes", task.sim.memory_bytes);
  if (task.sim.link_model == LinkModel::kTopology) PutRoutes(bundle, task.sim.routes);
  bundle.Put("group_of_op", task.group_of_op);
  bundle.Put("groups.count", std::vector<int32_t>{task.groups.num_groups});
  bundle.Put("groups.cost_us", task.groups.cost_us);
  bundle.Put("groups.output_bytes", task.groups.output_bytes);
  bundle.Put("groups.memory_bytes", task.groups.memory_bytes);
  bundle.Put("groups.parents.begin", task.groups.parents.begin);
  bundle.Put("groups.parents.items", task.groups.parents.items);
  bundle.Put("groups.allowed", task.groups.allowed);
  bundle.Put("single_device_us", std::vector<double>{task.single_device_us});
  bundle.Put("single_device", std::vector<int32_t>{task.single_device});
  return bundle;
}

PlacementTask TaskFromBundle(const ArrayBundle& bundle) {
  PlacementTask task;
  task.name = bundle.GetText("name");
  task.sim = GetSim(bundle);
  task.groups = GetGroups(bundle, task.sim);
  task.group_of_op = bundle.Get<int32_t>("group_of_op");
  CheckGroupOfOp(task);
  task.single_device_us = Scalar<double>(bundle, "single_device_us");
  task.single_device = Scalar<int32_t>(bundle, "single_device");
  if (task.single_device < -1 || task.single_device >= task.sim.num_devices || !(task.single_device_us >= 0)) {
    throw TaskError("'single_device' or 'single_device_us' is out of range");
  }
  return task;
}

}  // namespace emplace
