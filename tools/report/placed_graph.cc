#include "tools/report/placed_graph.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/engine/graph_paths.h"
#include "simulator/engine/memory/memory_over_time.h"
#include "simulator/engine/simulator.h"
#include "simulator/engine/timeline_rows.h"
#include "simulator/graph/grouping.h"
#include "simulator/task/placement_task.h"
#include "tools/report/layered_layout.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Nanoseconds are finer than anything that is drawn, and print short.
double Rounded(double us) { return std::round(us * 1e3) / 1e3; }

OrderedJson Devices(const Cluster& cluster, const Placement& placement, const Timeline& timeline) {
  OrderedJson devices = OrderedJson::array();
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    double busy_us = 0;
    int64_t ops = 0;
    for (size_t o = 0; o < placement.size(); ++o) {
      if (static_cast<size_t>(placement[o]) != d) continue;
      busy_us += timeline.finish_us[o] - timeline.start_us[o];
      ++ops;
    }
    const Device& device = cluster.devices[d];
    devices.push_back({{"name", device.name},
                       {"kind", device.kind},
                       {"memory_bytes", device.memory_bytes},
                       {"peak_bytes", timeline.peak_bytes[d]},
                       {"busy_us", Rounded(busy_us)},
                       {"ops", ops}});
  }
  return devices;
}

// "ops", and the "types" that they refer to.
void AddOps(const OpGraph& graph, const Placement& placement, const Timeline& timeline,
            const std::vector<GroupIndex>& group_of_op, OrderedJson& document) {
  std::map<std::string, size_t> type_index;
  OrderedJson types = OrderedJson::array();
  OrderedJson ops = {
      {"name", OrderedJson::array()},        {"type", OrderedJson::array()}, {"start_us", OrderedJson::array()},
      {"duration_us", OrderedJson::array()}, {"device", placement},          {"group", group_of_op}};
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    const Op& op = graph.op(o);
    const auto [type, is_new] = type_index.emplace(op.type, types.size());
    if (is_new) types.push_back(op.type);
    const auto i = static_cast<size_t>(o);
    ops["name"].push_back(op.name);
    ops["type"].push_back(type->second);
    ops["start_us"].push_back(Rounded(timeline.start_us[i]));
    ops["duration_us"].push_back(Rounded(timeline.finish_us[i] - timeline.start_us[i]));
  }
  document["types"] = std::move(types);
  document["ops"] = std::move(ops);
}

// A row for each link that a transfer occupies.
OrderedJson Transfers(const SimGraph& sim, const Timeline& timeline) {
  const std::vector<OpIndex> producers = TensorProducers(sim);
  OrderedJson transfers = {{"link", OrderedJson::array()},
                           {"op", OrderedJson::array()},
                           {"bytes", OrderedJson::array()},
                           {"start_us", OrderedJson::array()},
                           {"duration_us", OrderedJson::array()}};
  for (const Transfer& transfer : timeline.transfers) {
    const auto tensor = static_cast<size_t>(transfer.tensor);
    for (const int32_t link : LinksOf(sim, transfer)) {
      transfers["link"].push_back(link);
      transfers["op"].push_back(producers[tensor]);
      transfers["bytes"].push_back(sim.tensor_bytes[tensor]);
      transfers["start_us"].push_back(Rounded(transfer.start_us));
      transfers["duration_us"].push_back(Rounded(transfer.sent_us - transfer.start_us));
    }
  }
  return transfers;
}

OrderedJson Memory(const SimGraph& sim, const Placement& placement, const Timeline& timeline) {
  OrderedJson devices = OrderedJson::array();
  for (const std::vector<MemorySample>& samples : MemoryOverTime(sim, placement, timeline)) {
    OrderedJson device = {{"time_us", OrderedJson::array()}, {"bytes", OrderedJson::array()}};
    for (const MemorySample& sample : samples) {
      device["time_us"].push_back(Rounded(sample.time_us));
      device["bytes"].push_back(sample.bytes);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

OrderedJson Edges(const std::vector<GroupEdge>& edges) {
  OrderedJson columns = {{"from", OrderedJson::array()}, {"to", OrderedJson::array()}, {"bytes", OrderedJson::array()}};
  for (const GroupEdge& edge : edges) {
    columns["from"].push_back(edge.from);
    columns["to"].push_back(edge.to);
    columns["bytes"].push_back(edge.bytes);
  }
  return columns;
}

OrderedJson Groups(const OpGraph& graph, const Cluster& cluster, const GroupedGraph& grouped, const SimGraph& sim,
                   const Placement& placement) {
  const auto num_groups = static_cast<size_t>(grouped.num_groups);
  std::vector<int64_t> ops(num_groups);
  std::vector<OpIndex> costliest(num_groups, -1);  // The op that a group is named by.
  std::vector<double> costliest_us(num_groups);
  std::vector<std::vector<int64_t>> ops_on(num_groups, std::vector<int64_t>(cluster.devices.size()));
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    const auto i = static_cast<size_t>(o);
    const auto group = static_cast<size_t>(grouped.group_of_op[i]);
    const auto device = static_cast<size_t>(placement[i]);
    const double cost_us = sim.cost_us[i * cluster.devices.size() + device];
    ++ops[group];
    ++ops_on[group][device];
    if (costliest[group] >= 0 && cost_us <= costliest_us[group]) continue;
    costliest[group] = o;
    costliest_us[group] = cost_us;
  }
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (const GroupEdge& edge : grouped.edges) edges.push_back({edge.from, edge.to});
  const LayeredLayout layout = LayOut(grouped.num_groups, edges);
  std::vector<double> cost_us = grouped.cost_us;
  std::transform(cost_us.begin(), cost_us.end(), cost_us.begin(), Rounded);
  return {{"cost_us", cost_us},
          {"output_bytes", grouped.output_bytes},
          {"memory_bytes", grouped.memory_bytes},
          {"ops", ops},
          {"ops_on", ops_on},
          {"costliest_op", costliest},
          {"layer", layout.layer},
          {"position", layout.position},
          {"num_layers", layout.num_layers},
          {"edges", Edges(grouped.edges)},
          {"feedback_edges", Edges(grouped.feedback_edges)}};
}

}  // namespace

OrderedJson PlacedGraphToJson(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                              int32_t max_groups, const DeviceOrders& orders) {
  const PlacementTask task = PlacementTask::MakeForEpisodes(graph, cluster, max_groups);
  const GroupedGraph grouped = GroupOps(graph, cluster, max_groups);
  Simulator simulator(task.sim, orders);
  const Timeline& timeline = simulator.Run(placement);
  OrderedJson document = {{"graph", graph.name()},
                          {"makespan_us", Rounded(timeline.makespan_us)},
                          {"single_device_us", Rounded(task.single_device_us)},
                          {"devices", Devices(cluster, placement, timeline)},
                          {"links", LinkNames(cluster)}};
  AddOps(graph, placement, timeline, grouped.group_of_op, document);
  document["transfers"] = Transfers(task.sim, timeline);
  document["memory"] = Memory(task.sim, placement, timeline);
  document["groups"] = Groups(graph, cluster, grouped, task.sim, placement);
  return document;
}

}  // namespace emplace
