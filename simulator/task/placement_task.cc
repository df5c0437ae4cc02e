#include "simulator/task/placement_task.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/config/field_table.h"
#include "common/error.h"
#include "common/ids.h"
#include "common/strings.h"
#include "simulator/engine/single_device.h"
#include "simulator/graph/device_costs.h"
#include "simulator/graph/grouping.h"
#include "simulator/graph/placement.h"

namespace emplace {
namespace {

// Of the coarsest search level.
constexpr int32_t kFewestGroups = 16;
// More than these are not merged for nobody: that would take a tenth of a second and more.
constexpr int32_t kManyGroups = 5000;

// -1: none.
int32_t StageOf(const Op& op) {
  if (op.attrs_json.empty()) return -1;
  const nlohmann::json attrs = nlohmann::json::parse(op.attrs_json, nullptr, /*allow_exceptions=*/false);
  const auto stage = attrs.find("stage");
  const bool given =
      stage != attrs.end() && stage->is_number_unsigned() && *stage < std::numeric_limits<int32_t>::max();
  return given ? stage->get<int32_t>() : -1;
}

// [num_ops] Neighbours in a graph often have the same attrs, which are read once then.
std::vector<int32_t> Stages(const OpGraph& graph) {
  std::vector<int32_t> stages;
  const std::string* read = nullptr;
  for (const Op& op : graph.ops()) {
    stages.push_back(read != nullptr && *read == op.attrs_json ? stages.back() : StageOf(op));
    read = &op.attrs_json;
  }
  return stages;
}

// An op that others repeat is in the first micro-batch; those that repeat it are in the next ones, in their order.
std::vector<int32_t> Microbatches(const OpGraph& graph) {
  std::vector<int32_t> microbatch(static_cast<size_t>(graph.num_ops()), -1);
  std::vector<int32_t> copies(microbatch.size());
  for (size_t o = 0; o < microbatch.size(); ++o) {
    if (graph.ops()[o].copy_of == Op::kNoCopy) continue;
    const auto original = static_cast<size_t>(graph.ops()[o].copy_of);
    microbatch[original] = 0;
    microbatch[o] = ++copies[original];
  }
  return microbatch;
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

// The kinds, or of many the nearest name and those that begin like `wanted`, and how many there are besides.
std::string NearKinds(const std::set<std::string>& known, const std::string& wanted) {
  constexpr size_t kMost = 12;
  constexpr size_t kAlike = 4;  // Letters at the beginning.
  std::vector<std::string> shown(known.begin(), known.end());
  if (shown.size() <= kMost) return Join(shown, ", ");
  std::stable_partition(shown.begin(), shown.end(),
                        [&](const std::string& kind) { return kind.substr(0, kAlike) == wanted.substr(0, kAlike); });
  const auto nearest = std::ranges::find(shown, NearestName(wanted, shown));
  if (nearest != shown.end()) std::rotate(shown.begin(), nearest, nearest + 1);
  shown.resize(kMost);
  return StrCat(Join(shown, ", "), " or ", known.size() - kMost, " more");
}

}  // namespace

void CheckKinds(const OpGraph& graph, const Cluster& cluster) {
  for (const Device& device : cluster.devices) {
    // What costs nothing on any kind, such as a parameter, says nothing of this one. A kind with a cost is known,
    // though its ops may not be allowed there.
    const auto knows = [&](const Op& op) {
      return op.cost.is_uniform() ? op.AllowedOn(device.kind) && op.cost.everywhere_us() > 0
                                  : op.cost.On(device.kind).has_value();
    };
    const auto costs = [](const Op& op) { return !op.cost.is_uniform() || op.cost.everywhere_us() > 0; };
    if (std::any_of(graph.ops().begin(), graph.ops().end(), knows)) continue;
    if (std::none_of(graph.ops().begin(), graph.ops().end(), costs)) continue;  // Nothing costs anything anywhere.
    std::set<std::string> known;
    for (const Op& op : graph.ops()) {
      known.insert(op.cost.kinds().begin(), op.cost.kinds().end());
      known.insert(op.allowed.begin(), op.allowed.end());
    }
    throw BadInput(StrCat("device '", device.name, "' is of kind '", device.kind, "', which may run no op of graph '",
                          graph.name(), "' that has a cost, expected one of: ", NearKinds(known, device.kind)));
  }
  DeviceCosts costs(cluster);
  for (const Op& op : graph.ops()) {
    if (std::ranges::all_of(costs.Of(op), [](double us) { return std::isnan(us); })) throw NoDeviceFor(op, cluster);
  }
}

PlacementTask PlacementTask::MakeForEpisodes(const OpGraph& graph, const Cluster& cluster, int32_t max_groups) {
  PlacementTask task = Ungrouped(graph, cluster);
  task.SetGroups(GroupOps(graph, cluster, max_groups));
  return task;
}

PlacementTask PlacementTask::Ungrouped(const OpGraph& graph, const Cluster& cluster) {
  if (graph.num_ops() == 0)
    throw BadInput(StrCat("graph '", graph.name(), "' has no ops, expected something to place"));
  PlacementTask task;
  task.name = graph.name();
  task.sim = SimGraph::Compile(graph, cluster);
  const SingleDevice single = FindSingleDevice(task.sim);
  task.single_device = single.device;
  task.single_device_us = single.makespan_us;
  return task;
}

void PlacementTask::SetGroups(const GroupedGraph& grouped) {
  group_of_op = grouped.group_of_op;
  groups = MakeGroupGraph(grouped, sim.num_devices);
}

PlacementTask PlacementTask::Make(const OpGraph& graph, const Cluster& cluster, int32_t max_groups,
                                  const StopSignal& stop, bool places_groups) {
  PlacementTask task = Ungrouped(graph, cluster);
  GroupingLimits limits = {.max_groups = max_groups, .fewest = kFewestGroups};
  if (!places_groups) limits.most_to_merge = kManyGroups;
  Groupings groupings = GroupOpsBothWays(graph, cluster, limits, stop);
  task.SetGroups(groupings.groups);
  task.levels = std::move(groupings.levels);
  task.unit_of_op = std::move(groupings.units);
  task.stage_of_op = Stages(graph);
  task.microbatch_of_op = Microbatches(graph);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const OpIndex original = graph.ops()[static_cast<size_t>(op)].copy_of;
    task.copy_of_op.push_back(original == Op::kNoCopy ? op : original);
  }
  for (const Device& device : cluster.devices) task.device_kinds.push_back(device.kind);
  return task;
}

bool PlacementTask::HasMicrobatches() const {
  return std::any_of(microbatch_of_op.begin(), microbatch_of_op.end(), [](int32_t i) { return i > 0; });
}

int32_t PlacementTask::NumMicrobatches() const {
  int32_t microbatches = 1;
  for (const int32_t microbatch : microbatch_of_op) microbatches = std::max(microbatches, microbatch + 1);
  return microbatches;
}

double PlacementTask::RatioToSingleDevice(double makespan_us) const {
  const bool comparable = single_device >= 0 && single_device_us > 0;
  return comparable ? makespan_us / single_device_us : std::nan("");
}

void PlacementTask::Expand(std::span<const uint8_t> placement, std::span<DeviceIndex> ops) const {
  EMPLACE_CHECK(placement.size() == static_cast<size_t>(groups.num_groups) && ops.size() == group_of_op.size());
  for (size_t o = 0; o < ops.size(); ++o) ops[o] = placement[static_cast<size_t>(group_of_op[o])];
}

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
