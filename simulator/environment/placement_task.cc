#include "simulator/environment/placement_task.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/strings.h"
#include "common/trajectory.h"
#include "simulator/engine/simulator.h"
#include "simulator/environment/featurizer.h"
#include "simulator/graph/grouping.h"

namespace emplace {
namespace {

bool RunsEverything(const SimGraph& sim, DeviceIndex device) {
  for (int32_t o = 0; o < sim.num_ops; ++o) {
    const size_t row = static_cast<size_t>(o) * static_cast<size_t>(sim.num_devices);
    if (std::isnan(sim.cost_us[row + static_cast<size_t>(device)])) return false;
  }
  return true;
}

void FindSingleDevice(PlacementTask& task) {
  task.single_device = -1;
  task.single_device_us = std::numeric_limits<double>::infinity();
  Simulator simulator(task.sim);
  std::vector<int64_t> peak_bytes(static_cast<size_t>(task.sim.num_devices));
  bool best_fits = false;
  for (DeviceIndex device = 0; device < task.sim.num_devices; ++device) {
    if (!RunsEverything(task.sim, device)) continue;
    const std::vector<DeviceIndex> placement(static_cast<size_t>(task.sim.num_ops), device);
    const double makespan_us = simulator.MakespanAndPeak(placement, peak_bytes);
    const auto d = static_cast<size_t>(device);
    const bool fits = peak_bytes[d] <= task.sim.memory_bytes[d];
    const bool better = fits != best_fits ? fits : makespan_us < task.single_device_us;
    if (task.single_device >= 0 && !better) continue;
    task.single_device = device;
    task.single_device_us = makespan_us;
    best_fits = fits;
  }
}

// -1: none.
int32_t StageOf(const Op& op) {
  if (op.attrs_json.empty()) return -1;
  const nlohmann::json attrs = nlohmann::json::parse(op.attrs_json, nullptr, /*allow_exceptions=*/false);
  const auto stage = attrs.find("stage");
  const bool given =
      stage != attrs.end() && stage->is_number_unsigned() && *stage < std::numeric_limits<int32_t>::max();
  return given ? stage->get<int32_t>() : -1;
}

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

void CheckUnit(const std::string& name, const std::vector<float>& values, int32_t expected) {
  if (values.size() != static_cast<size_t>(expected)) {
    throw TaskError(StrCat("'", name, "' has ", values.size(), " entries, expected ", expected));
  }
  for (const float value : values) {
    if (!(value >= 0.0F && value <= 1.0F)) throw TaskError(StrCat("'", name, "' holds ", value, ", expected 0..1"));
  }
}

void CheckParents(const PolicyGraph& graph) {
  const std::vector<int32_t>& begin = graph.parents.begin;
  if (begin.size() != static_cast<size_t>(graph.num_nodes) + 1 || begin.front() != 0 ||
      !std::is_sorted(begin.begin(), begin.end()) || static_cast<size_t>(begin.back()) != graph.parents.items.size()) {
    throw TaskError("'policy.parents': offsets do not rise from 0 to the number of entries");
  }
  for (int32_t node = 0; node < graph.num_nodes; ++node) {
    int32_t previous = -1;
    for (const int32_t parent : graph.parents.Row(node)) {
      if (parent <= previous || parent >= node) {
        throw TaskError(
            StrCat("'policy.parents': node ", node, " has parent ", parent, ", expected ascending lower nodes"));
      }
      previous = parent;
    }
  }
}

void CheckAllowed(const PolicyGraph& graph) {
  const auto devices = static_cast<size_t>(graph.num_devices);
  if (graph.allowed.size() != static_cast<size_t>(graph.num_nodes) * devices)
    throw TaskError("'policy.allowed' has another size");
  for (size_t node = 0; node < static_cast<size_t>(graph.num_nodes); ++node) {
    const std::span<const uint8_t> row = std::span(graph.allowed).subspan(node * devices, devices);
    if (*std::max_element(row.begin(), row.end()) != 1) {
      throw TaskError(StrCat("'policy.allowed': group ", node, " may run nowhere, or holds other than 0 and 1"));
    }
  }
}

}  // namespace

void CheckKinds(const OpGraph& graph, const Cluster& cluster) {
  for (const Device& device : cluster.devices) {
    const auto runs = [&](const Op& op) { return op.AllowedOn(device.kind) && op.cost.On(device.kind) > 0; };
    const auto costs = [](const Op& op) { return !op.cost.is_uniform() || op.cost.On("") > 0; };
    if (std::any_of(graph.ops().begin(), graph.ops().end(), runs)) continue;
    if (std::none_of(graph.ops().begin(), graph.ops().end(), costs)) continue;  // Nothing costs anything anywhere.
    std::set<std::string> known;
    for (const Op& op : graph.ops()) {
      for (const auto& [kind, us] : op.cost.by_kind()) known.insert(kind);
      known.insert(op.allowed.begin(), op.allowed.end());
    }
    throw BadInput(StrCat("device '", device.name, "' is of kind '", device.kind, "', which may run no op of graph '",
                          graph.name(), "', expected one of: ", Join({known.begin(), known.end()}, ", ")));
  }
}

PlacementTask PlacementTask::MakeForEpisodes(const OpGraph& graph, const Cluster& cluster, int32_t max_groups) {
  if (graph.num_ops() == 0)
    throw BadInput(StrCat("graph '", graph.name(), "' has no ops, expected something to place"));
  PlacementTask task;
  task.name = graph.name();
  task.sim = SimGraph::Compile(graph, cluster);
  const GroupedGraph grouped = GroupOps(graph, cluster, max_groups);
  task.group_of_op = grouped.group_of_op;
  task.policy = MakePolicyGraph(grouped, cluster.num_devices());
  FindSingleDevice(task);
  return task;
}

PlacementTask PlacementTask::Make(const OpGraph& graph, const Cluster& cluster, int32_t max_groups) {
  PlacementTask task = MakeForEpisodes(graph, cluster, max_groups);
  task.unit_of_op = GroupOps(graph, cluster, graph.num_ops()).group_of_op;
  for (const Op& op : graph.ops()) task.stage_of_op.push_back(StageOf(op));
  for (const Device& device : cluster.devices) task.device_kinds.push_back(device.kind);
  return task;
}

double PlacementTask::RatioToSingleDevice(double makespan_us) const {
  const bool comparable = single_device >= 0 && single_device_us > 0;
  return comparable ? makespan_us / single_device_us : std::nan("");
}

void PlacementTask::Expand(std::span<const uint8_t> groups, std::span<DeviceIndex> ops) const {
  EMPLACE_CHECK(groups.size() == static_cast<size_t>(policy.num_nodes) && ops.size() == group_of_op.size());
  for (size_t o = 0; o < ops.size(); ++o) ops[o] = groups[static_cast<size_t>(group_of_op[o])];
}

ArrayBundle ToBundle(const PlacementTask& task) {
  ArrayBundle bundle;
  bundle.PutText("name", task.name);
  bundle.Put("sim.sizes",
             std::vector<int32_t>{task.sim.num_ops, task.sim.num_devices, static_cast<int32_t>(task.sim.link_model)});
  bundle.Put("sim.cost_us", task.sim.cost_us);
  bundle.Put("sim.tensor_begin", task.sim.tensor_begin);
  bundle.Put("sim.tensor_bytes", task.sim.tensor_bytes);
  bundle.Put("sim.consumers.begin", task.sim.tensor_consumers.begin);
  bundle.Put("sim.consumers.items", task.sim.tensor_consumers.items);
  bundle.Put("sim.num_inputs", task.sim.num_inputs);
  bundle.Put("sim.output_bytes", task.sim.output_bytes);
  bundle.Put("sim.param_bytes", task.sim.param_bytes);
  bundle.Put("sim.temp_bytes", task.sim.temp_bytes);
  bundle.Put("sim.machine", std::vector<double>{task.sim.op_overhead_us, task.sim.bandwidth_bytes_per_us,
                                                task.sim.transfer_overhead_us});
  bundle.Put("sim.memory_bytes", task.sim.memory_bytes);
  if (task.sim.link_model == LinkModel::kTopology) PutRoutes(bundle, task.sim.routes);
  bundle.Put("group_of_op", task.group_of_op);
  bundle.Put("policy.num_nodes", std::vector<int32_t>{task.policy.num_nodes});
  bundle.Put("policy.cost", task.policy.cost);
  bundle.Put("policy.bytes", task.policy.bytes);
  bundle.Put("policy.memory", task.policy.memory);
  bundle.Put("policy.parents.begin", task.policy.parents.begin);
  bundle.Put("policy.parents.items", task.policy.parents.items);
  bundle.Put("policy.allowed", task.policy.allowed);
  bundle.Put("single_device_us", std::vector<double>{task.single_device_us});
  bundle.Put("single_device", std::vector<int32_t>{task.single_device});
  return bundle;
}

PlacementTask TaskFromBundle(const ArrayBundle& bundle) {
  PlacementTask task;
  task.name = bundle.GetText("name");
  const std::vector<int32_t> sizes = bundle.Get<int32_t>("sim.sizes");
  const std::vector<double> machine = bundle.Get<double>("sim.machine");
  if (sizes.size() != 3 || machine.size() != 3) throw TaskError("'sim.sizes' or 'sim.machine' has another size");
  SimGraph& sim = task.sim;
  sim.num_ops = sizes[0];
  sim.num_devices = sizes[1];
  if (sizes[2] < 0 || sizes[2] > static_cast<int32_t>(LinkModel::kTopology)) {
    throw TaskError(StrCat("link model ", sizes[2], " is unknown"));
  }
  sim.link_model = static_cast<LinkModel>(sizes[2]);
  if (sim.num_devices > kMaxDevices)
    throw TaskError(StrCat(sim.num_devices, " devices, expected at most ", kMaxDevices));
  sim.cost_us = bundle.Get<double>("sim.cost_us");
  sim.tensor_begin = bundle.Get<int32_t>("sim.tensor_begin");
  sim.tensor_bytes = bundle.Get<int64_t>("sim.tensor_bytes");
  sim.tensor_consumers.begin = bundle.Get<int32_t>("sim.consumers.begin");
  sim.tensor_consumers.items = bundle.Get<int32_t>("sim.consumers.items");
  sim.num_inputs = bundle.Get<int32_t>("sim.num_inputs");
  sim.output_bytes = bundle.Get<int64_t>("sim.output_bytes");
  sim.param_bytes = bundle.Get<int64_t>("sim.param_bytes");
  sim.temp_bytes = bundle.Get<int64_t>("sim.temp_bytes");
  sim.op_overhead_us = machine[0];
  sim.bandwidth_bytes_per_us = machine[1];
  sim.transfer_overhead_us = machine[2];
  sim.memory_bytes = bundle.Get<int64_t>("sim.memory_bytes");
  if (sim.link_model == LinkModel::kTopology) sim.routes = GetRoutes(bundle);
  sim.Validate();

  PolicyGraph& policy = task.policy;
  policy.num_nodes = Scalar<int32_t>(bundle, "policy.num_nodes");
  if (policy.num_nodes < 1 || policy.num_nodes > sim.num_ops) {
    throw TaskError(StrCat("'policy.num_nodes' is ", policy.num_nodes, ", expected 1..", sim.num_ops));
  }
  policy.num_devices = sim.num_devices;
  policy.cost = bundle.Get<float>("policy.cost");
  policy.bytes = bundle.Get<float>("policy.bytes");
  policy.memory = bundle.Get<float>("policy.memory");
  policy.parents.begin = bundle.Get<int32_t>("policy.parents.begin");
  policy.parents.items = bundle.Get<int32_t>("policy.parents.items");
  policy.allowed = bundle.Get<uint8_t>("policy.allowed");
  CheckUnit("policy.cost", policy.cost, policy.num_nodes);
  CheckUnit("policy.bytes", policy.bytes, policy.num_nodes);
  CheckUnit("policy.memory", policy.memory, policy.num_nodes);
  CheckParents(policy);
  CheckAllowed(policy);
  policy.DeriveFromParents();

  task.group_of_op = bundle.Get<int32_t>("group_of_op");
  if (task.group_of_op.size() != static_cast<size_t>(sim.num_ops)) throw TaskError("'group_of_op' has another size");
  for (size_t o = 0; o < task.group_of_op.size(); ++o) {
    const GroupIndex group = task.group_of_op[o];
    if (group < 0 || group >= policy.num_nodes) throw TaskError(StrCat("'group_of_op' holds ", group));
    // A group may only be sent where every op of it may run: the simulator relies on it.
    for (int32_t d = 0; d < sim.num_devices; ++d) {
      const bool may_run = !std::isnan(sim.cost_us[o * static_cast<size_t>(sim.num_devices) + static_cast<size_t>(d)]);
      if (policy.allowed[static_cast<size_t>(group) * static_cast<size_t>(sim.num_devices) + static_cast<size_t>(d)] ==
              1 &&
          !may_run) {
        throw TaskError(StrCat("'policy.allowed': group ", group, " may go to device ", d, ", op ", o, " may not"));
      }
    }
  }
  task.single_device_us = Scalar<double>(bundle, "single_device_us");
  task.single_device = Scalar<int32_t>(bundle, "single_device");
  if (task.single_device < -1 || task.single_device >= sim.num_devices || !(task.single_device_us >= 0)) {
    throw TaskError("'single_device' or 'single_device_us' is out of range");
  }
  return task;
}

}  // namespace emplace
