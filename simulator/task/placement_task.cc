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
    throw BadInput(StrCat("device '", device.name, "' is of kind '", device.kind, "', which may run no op of graph '",
                          graph.name(),
                          "' that has a cost, expected one of: ", NearKinds(graph.DeviceKinds(), device.kind)));
  }
  DeviceCosts costs(cluster);
  for (const Op& op : graph.ops()) {
    if (std::ranges::all_of(costs.Of(op), [](double us) { return !MayRunAt(us); })) throw NoDeviceFor(op, cluster);
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

}  // namespace emplace
