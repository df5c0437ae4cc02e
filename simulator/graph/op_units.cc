#include "simulator/graph/op_units.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/sort_unique.h"
#include "common/strings.h"
#include "simulator/graph/grouping.h"
#include "simulator/graph/placement.h"

namespace emplace {
namespace {

std::vector<UnitEdge> PairsOf(const std::vector<GroupEdge>& edges) {
  std::vector<UnitEdge> pairs;
  pairs.reserve(edges.size());
  for (const GroupEdge& edge : edges) pairs.emplace_back(edge.from, edge.to);
  return pairs;
}

void AddOp(const Op& op, const Cluster& cluster, OpUnit& unit) {
  double total_us = 0;
  int64_t may_run = 0;
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    const std::string& kind = cluster.devices[d].kind;
    if (op.AllowedOn(kind)) {
      total_us += *op.cost.On(kind);
      ++may_run;
    } else {
      unit.allowed[d] = 0;
    }
  }
  if (std::count(unit.allowed.begin(), unit.allowed.end(), 1) == 0) {
    if (may_run == 0) throw NoDeviceFor(op, cluster);
    throw BadInput(StrCat("op '", op.name, "': no device may run all ops of group '", op.group, "'"));
  }
  unit.cost_us += total_us / static_cast<double>(may_run);
  unit.bytes += static_cast<double>(op.AllBytes());
}

// Fills unit_of_op [num_ops]. Units are numbered by their first op's topological position.
std::vector<OpUnit> UnitsByFirstOp(const OpGraph& graph, const Cluster& cluster, std::vector<int32_t>& unit_of_op) {
  std::vector<OpUnit> units;
  unit_of_op.assign(static_cast<size_t>(graph.num_ops()), -1);
  std::unordered_map<std::string, int32_t> unit_of_label;
  for (const OpIndex o : graph.topological_order()) {
    const std::string& label = graph.op(o).group;
    const auto next = static_cast<int32_t>(units.size());
    int32_t unit = next;
    if (!label.empty()) unit = unit_of_label.try_emplace(label, next).first->second;
    if (unit == next) units.push_back({0, 0, std::vector<uint8_t>(cluster.devices.size(), 1)});
    unit_of_op[static_cast<size_t>(o)] = unit;
    AddOp(graph.op(o), cluster, units[static_cast<size_t>(unit)]);
  }
  return units;
}

}  // namespace

OpUnits MakeUnits(const OpGraph& graph, const Cluster& cluster) {
  OpUnits made;
  std::vector<OpUnit> by_first_op = UnitsByFirstOp(graph, cluster, made.unit_of_op);
  const std::vector<UnitEdge> edges = PairsOf(EdgesBetween(graph, made.unit_of_op));
  const std::vector<int32_t> place = OrderUnits(static_cast<int32_t>(by_first_op.size()), edges);
  made.units.resize(by_first_op.size());
  for (size_t unit = 0; unit < by_first_op.size(); ++unit) {
    made.units[static_cast<size_t>(place[unit])] = std::move(by_first_op[unit]);
  }
  for (int32_t& unit : made.unit_of_op) unit = place[static_cast<size_t>(unit)];
  for (const auto& [from, to] : edges) {
    const UnitEdge edge = {place[static_cast<size_t>(from)], place[static_cast<size_t>(to)]};
    if (edge.first < edge.second) made.forward_edges.push_back(edge);
  }
  return made;
}

std::vector<GroupEdge> EdgesBetween(const OpGraph& graph, const std::vector<int32_t>& part_of_op) {
  std::vector<GroupEdge> edges;
  std::vector<std::pair<int32_t, int32_t>> reads;
  for (OpIndex producer = 0; producer < graph.num_ops(); ++producer) {
    const int32_t from = part_of_op[static_cast<size_t>(producer)];
    // (part, output) pairs, so that a tensor with several readers in one part counts once.
    reads.clear();
    for (const auto& [reader, output] : graph.ReadsOf(producer)) {
      const int32_t to = part_of_op[static_cast<size_t>(reader)];
      if (to != from) reads.push_back({to, output});
    }
    SortUnique(reads);
    for (const auto& [to, output] : reads) {
      const bool control = output == OpInput::kControl;
      edges.push_back({from, to, control ? 0 : graph.op(producer).outputs[static_cast<size_t>(output)].bytes});
    }
  }
  std::sort(edges.begin(), edges.end(),
            [](const GroupEdge& a, const GroupEdge& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  std::vector<GroupEdge> summed;
  for (const GroupEdge& edge : edges) {
    if (!summed.empty() && summed.back().from == edge.from && summed.back().to == edge.to) {
      summed.back().bytes += edge.bytes;
    } else {
      summed.push_back(edge);
    }
  }
  return summed;
}

}  // namespace emplace
