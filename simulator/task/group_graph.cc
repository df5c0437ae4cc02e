#include "simulator/task/group_graph.h"

#include <algorithm>

namespace emplace {

void GroupGraph::DeriveChildren() {
  // Groups ascend here, so each row of children does.
  children = CsrFromPairs(num_groups, [&](auto visit) {
    for (int32_t group = 0; group < num_groups; ++group) {
      for (const int32_t parent : parents.Row(group)) visit(parent, group);
    }
  });
}

std::optional<size_t> GroupGraph::FirstMisplaced(std::span<const uint8_t> placement) const {
  for (size_t group = 0; group < placement.size(); ++group) {
    if (placement[group] >= num_devices || !Allowed(group, placement[group])) return group;
  }
  return std::nullopt;
}

GroupGraph MakeGroupGraph(const GroupedGraph& grouped, int32_t num_devices) {
  GroupGraph graph;
  graph.num_groups = grouped.num_groups;
  graph.num_devices = num_devices;
  graph.cost_us = grouped.cost_us;
  graph.output_bytes = grouped.output_bytes;
  graph.memory_bytes = grouped.memory_bytes;
  graph.allowed = grouped.allowed;

  std::vector<std::vector<int32_t>> parents(static_cast<size_t>(grouped.num_groups));
  for (const GroupEdge& edge : grouped.edges) parents[static_cast<size_t>(edge.to)].push_back(edge.from);
  for (std::vector<int32_t>& row : parents) std::sort(row.begin(), row.end());
  graph.parents = CsrFromRows(parents);
  graph.DeriveChildren();
  return graph;
}

}  // namespace emplace
