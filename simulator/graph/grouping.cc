#include "simulator/graph/grouping.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "common/error.h"
#include "simulator/graph/op_units.h"
#include "simulator/graph/unit_merger.h"

namespace emplace {
namespace {

// A chain is not contracted past this share of the smallest device, so that a graph too large for one device can still
// be split.
constexpr double kChainMemoryShare = 0.25;

double MostBytesOfChain(const Cluster& cluster) {
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (const Device& device : cluster.devices) smallest = std::min(smallest, device.memory_bytes);
  return kChainMemoryShare * static_cast<double>(smallest);
}

// Merges what each grouping begins with.
void Fold(UnitMerger& merger, const Cluster& cluster, const StopSignal& stop) {
  merger.FoldZeroCost(stop);
  merger.ContractChains(MostBytesOfChain(cluster), stop);
}

GroupedGraph Grouped(const OpGraph& graph, MergedUnits merged) {
  GroupedGraph grouped;
  grouped.num_groups = static_cast<int32_t>(merged.groups.size());
  grouped.group_of_op = std::move(merged.group_of_op);
  for (const OpUnit& group : merged.groups) {
    grouped.cost_us.push_back(group.cost_us);
    grouped.allowed.insert(grouped.allowed.end(), group.allowed.begin(), group.allowed.end());
  }
  grouped.output_bytes.resize(merged.groups.size());
  grouped.memory_bytes.resize(merged.groups.size());
  for (size_t o = 0; o < grouped.group_of_op.size(); ++o) {
    const auto group = static_cast<size_t>(grouped.group_of_op[o]);
    const Op& op = graph.ops()[o];
    grouped.output_bytes[group] += op.OutputBytes();
    grouped.memory_bytes[group] += op.AllBytes();
  }
  for (const GroupEdge& edge : GroupReads(graph, grouped.group_of_op).Edges()) {
    (edge.from < edge.to ? grouped.edges : grouped.feedback_edges).push_back(edge);
  }
  return grouped;
}

MergedUnits MergedTo(UnitMerger merger, int32_t max_groups, const StopSignal& stop) {
  merger.MergeDown(max_groups, stop);
  return stop.Now() ? merger.CutInOrder(max_groups) : merger.Merged();
}

}  // namespace

GroupedGraph GroupOps(const OpGraph& graph, const Cluster& cluster, int32_t max_groups, const StopSignal& stop) {
  EMPLACE_CHECK(max_groups >= 0);
  UnitMerger merger(MakeUnits(graph, cluster));
  if (max_groups == 0) return Grouped(graph, merger.Merged());
  Fold(merger, cluster, stop);
  return Grouped(graph, MergedTo(std::move(merger), max_groups, stop));
}

Groupings GroupOpsBothWays(const OpGraph& graph, const Cluster& cluster, const GroupingLimits& limits,
                           const StopSignal& stop) {
  EMPLACE_CHECK(limits.max_groups >= 0 && limits.fewest >= 1);
  UnitMerger merger(MakeUnits(graph, cluster));
  std::optional<MergedUnits> groups;
  if (limits.max_groups == 0) groups = merger.Merged();
  std::vector<GroupIndex> finest = merger.GroupOfOp();
  Fold(merger, cluster, stop);
  std::vector<GroupIndex> units = merger.GroupOfOp();
  if (!groups) {
    const bool cut = stop.Now() || merger.groups_left() > limits.most_to_merge;
    groups = cut ? merger.CutInOrder(limits.max_groups) : MergedTo(merger, limits.max_groups, stop);
  }
  return {.groups = Grouped(graph, *std::move(groups)),
          .levels = std::make_shared<const SearchLevels>(std::move(finest), units, std::move(merger), limits.fewest),
          .units = std::move(units)};
}

}  // namespace emplace
