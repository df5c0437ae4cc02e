#include "simulator/methods/exact/split_problem.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace emplace {
namespace {

// [n] stages by number, then units without a stage by theirs.
std::vector<int32_t> StageNodes(const ScheduleGraph& graph) {
  const std::vector<int32_t> stage_of_unit = StageOfUnits(graph, graph.task().stage_of_op);
  std::map<std::pair<bool, int32_t>, int32_t> nodes;  // By: without a stage, stage or unit.
  const auto key_of = [&](OpIndex op) {
    const int32_t unit = graph.UnitOf(op);
    const int32_t stage = stage_of_unit[static_cast<size_t>(unit)];
    return std::pair(stage < 0, stage < 0 ? unit : stage);
  };
  for (OpIndex op = 0; op < graph.num_ops(); ++op) nodes[key_of(op)] = 0;
  int32_t next = 0;
  for (auto& [key, node] : nodes) node = next++;
  std::vector<int32_t> node_of_op;
  for (OpIndex op = 0; op < graph.num_ops(); ++op) node_of_op.push_back(nodes.at(key_of(op)));
  return node_of_op;
}

std::vector<int32_t> NodesOfOps(const ScheduleGraph& graph, SplitNodes nodes) {
  if (nodes == SplitNodes::kUnits) return graph.task().unit_of_op;
  if (nodes == SplitNodes::kStages) return StageNodes(graph);
  return graph.task().levels->Finest();
}

// Devices of one kind with as much memory, each with the least room among them: the more classes, the longer a program
// takes, so that devices with different rooms cannot be classes of their own.
std::vector<SplitProblem::DeviceClass> Classes(const PlacementTask& task, std::span<const double> room_bytes) {
  std::map<std::pair<std::string, int64_t>, SplitProblem::DeviceClass> alike;
  for (DeviceIndex device = 0; device < task.sim.num_devices; ++device) {
    const auto d = static_cast<size_t>(device);
    SplitProblem::DeviceClass& of_class =
        alike
            .try_emplace({task.device_kinds[d], task.sim.memory_bytes[d]}, SplitProblem::DeviceClass{{}, room_bytes[d]})
            .first->second;
    of_class.devices.push_back(device);
    of_class.room_bytes = std::min(of_class.room_bytes, room_bytes[d]);
  }
  std::vector<SplitProblem::DeviceClass> classes;
  for (auto& [key, of_class] : alike) classes.push_back(std::move(of_class));
  return classes;
}

// The nodes' costs and bytes.
void AddOps(const ScheduleGraph& graph, SplitNodes nodes, SplitOfTask& split) {
  SplitProblem& problem = split.problem;
  problem.nodes.resize(static_cast<size_t>(CountOf(split.node_of_op)));
  for (SplitProblem::Node& node : problem.nodes) node.cost_us.assign(problem.classes.size(), 0);
  std::vector<bool> counted(static_cast<size_t>(graph.num_units()));
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    SplitProblem::Node& node = problem.nodes[static_cast<size_t>(split.node_of_op[static_cast<size_t>(op)])];
    for (size_t c = 0; c < problem.classes.size(); ++c) {
      const double us = graph.CostUs(op, problem.classes[c].devices.front());
      node.cost_us[c] += MayRunAt(us) ? us : std::numeric_limits<double>::infinity();
    }
    if (nodes == SplitNodes::kBound) {
      const auto o = static_cast<size_t>(op);
      node.bytes += static_cast<double>(graph.task().sim.param_bytes[o] + graph.task().sim.output_bytes[o]);
      continue;
    }
    const auto unit = static_cast<size_t>(graph.UnitOf(op));
    if (!counted[unit]) node.bytes += static_cast<double>(graph.UnitBytes(graph.UnitOf(op)));
    counted[unit] = true;
  }
}

void AddTensors(const ScheduleGraph& graph, SplitOfTask& split) {
  const SimGraph& sim = graph.task().sim;
  const auto node_of = [&](OpIndex op) { return split.node_of_op[static_cast<size_t>(op)]; };
  std::set<std::pair<int32_t, int32_t>> edges;
  for (int32_t tensor = 0; tensor < static_cast<int32_t>(sim.tensor_bytes.size()); ++tensor) {
    const int32_t maker = node_of(graph.ProducerOf(tensor));
    std::set<int32_t> readers;
    for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) readers.insert(node_of(reader));
    readers.erase(maker);
    if (readers.empty()) continue;
    split.problem.tensors.push_back({graph.MeanLoadUs(tensor), maker, {readers.begin(), readers.end()}});
    for (const int32_t reader : readers) {
      if (reader > maker) edges.emplace(maker, reader);
    }
  }
  split.problem.edges.assign(edges.begin(), edges.end());
}

}  // namespace

SplitOfTask MakeSplitProblem(const ScheduleGraph& graph, SplitNodes nodes, std::span<const double> room_bytes) {
  SplitOfTask split;
  split.node_of_op = NodesOfOps(graph, nodes);
  split.problem.classes = Classes(graph.task(), room_bytes);
  AddOps(graph, nodes, split);
  AddTensors(graph, split);
  return split;
}

}  // namespace emplace
