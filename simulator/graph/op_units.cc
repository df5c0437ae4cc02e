#include "simulator/graph/op_units.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/placement.h"

namespace emplace {
namespace {

// Adds ops to units, with their costs by device.
class UnitFiller {
 public:
  explicit UnitFiller(const Cluster& cluster) : cluster_(cluster) {
    for (const Device& device : cluster.devices) {
      const auto known = std::ranges::find(kinds_, device.kind);
      kind_of_device_.push_back(static_cast<size_t>(known - kinds_.begin()));
      if (known == kinds_.end()) kinds_.push_back(device.kind);
    }
    us_of_kind_.resize(kinds_.size());
  }

  OpUnit NewUnit() const { return {.allowed = std::vector<uint8_t>(kind_of_device_.size(), 1)}; }

  void Add(const Op& op, OpUnit& unit) {
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      us_of_kind_[kind] = op.AllowedOn(kinds_[kind]) ? op.cost.On(kinds_[kind]) : std::nullopt;
    }
    double total_us = 0;
    int64_t may_run = 0;
    for (size_t d = 0; d < kind_of_device_.size(); ++d) {
      const std::optional<double>& us = us_of_kind_[kind_of_device_[d]];
      total_us += us.value_or(0);
      may_run += us ? 1 : 0;
      if (!us) unit.allowed[d] = 0;
    }
    if (std::ranges::count(unit.allowed, 1) == 0) {
      if (may_run == 0) throw NoDeviceFor(op, cluster_);
      throw BadInput(StrCat("op '", op.name, "': no device may run all ops of group '", op.group, "'"));
    }
    unit.cost_us += total_us / static_cast<double>(may_run);
    unit.bytes += static_cast<double>(op.AllBytes());
  }

 private:
  const Cluster& cluster_;
  std::vector<std::string> kinds_;                 // Each once.
  std::vector<size_t> kind_of_device_;             // [num_devices] index into kinds_
  std::vector<std::optional<double>> us_of_kind_;  // [kinds] of the op that is added; nullopt: it may not run there
};

// Fills unit_of_op [num_ops]. Units are numbered by their first op's topological position.
std::vector<OpUnit> UnitsByFirstOp(const OpGraph& graph, const Cluster& cluster, std::vector<int32_t>& unit_of_op) {
  UnitFiller filler(cluster);
  std::vector<OpUnit> units;
  unit_of_op.assign(static_cast<size_t>(graph.num_ops()), -1);
  std::unordered_map<std::string, int32_t> unit_of_label;
  for (const OpIndex o : graph.topological_order()) {
    const std::string& label = graph.op(o).group;
    const auto next = static_cast<int32_t>(units.size());
    int32_t unit = next;
    if (!label.empty()) unit = unit_of_label.try_emplace(label, next).first->second;
    if (unit == next) units.push_back(filler.NewUnit());
    unit_of_op[static_cast<size_t>(o)] = unit;
    filler.Add(graph.op(o), units[static_cast<size_t>(unit)]);
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
