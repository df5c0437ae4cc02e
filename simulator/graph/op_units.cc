#include "simulator/graph/op_units.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/device_costs.h"
#include "simulator/graph/placement.h"

namespace emplace {
namespace {

// us: [num_devices] the op's costs.
void AddOp(const Op& op, std::span<const double> us, const Cluster& cluster, OpUnit& unit) {
  double total_us = 0;
  int64_t may_run = 0;
  for (size_t d = 0; d < us.size(); ++d) {
    if (MayRunAt(us[d])) {
      total_us += us[d];
      ++may_run;
    } else {
      unit.allowed[d] = 0;
    }
  }
  if (std::ranges::count(unit.allowed, 1) == 0) {
    if (may_run == 0) throw NoDeviceFor(op, cluster);
    throw BadInput(StrCat("op '", op.name, "': no device may run all ops of group '", op.group, "'"));
  }
  unit.cost_us += total_us / static_cast<double>(may_run);
  unit.bytes += static_cast<double>(op.AllBytes());
}

// Fills unit_of_op [num_ops]. Units are numbered by their first op's topological position.
std::vector<OpUnit> UnitsByFirstOp(const OpGraph& graph, const Cluster& cluster, std::vector<int32_t>& unit_of_op) {
  DeviceCosts costs(cluster);
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
    AddOp(graph.op(o), costs.Of(graph.op(o)), cluster, units[static_cast<size_t>(unit)]);
  }
  return units;
}

}  // namespace

OpUnits MakeUnits(const OpGraph& graph, const Cluster& cluster) {
  std::vector<int32_t> unit_of_op;
  std::vector<OpUnit> by_first_op = UnitsByFirstOp(graph, cluster, unit_of_op);
  GroupReads reads(graph, unit_of_op);
  std::vector<UnitEdge> edges;
  for (const GroupEdge& edge : reads.Edges()) edges.emplace_back(edge.from, edge.to);
  const std::vector<int32_t> place = OrderUnits(static_cast<int32_t>(by_first_op.size()), edges);
  const auto place_of = [&](int32_t unit) { return place[static_cast<size_t>(unit)]; };

  reads.Rename(place_of);
  OpUnits made = {.units = std::vector<OpUnit>(by_first_op.size()),
                  .unit_of_op = std::move(unit_of_op),
                  .forward_edges = {},
                  .reads = std::move(reads)};
  for (size_t unit = 0; unit < by_first_op.size(); ++unit) {
    made.units[static_cast<size_t>(place[unit])] = std::move(by_first_op[unit]);
  }
  for (int32_t& unit : made.unit_of_op) unit = place_of(unit);
  for (const auto& [from, to] : edges) {
    if (place_of(from) < place_of(to)) made.forward_edges.emplace_back(place_of(from), place_of(to));
  }
  return made;
}

}  // namespace emplace
