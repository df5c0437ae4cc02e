#include "simulator/graph/grouping.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "simulator/graph/acyclic_contraction.h"
#include "simulator/graph/op_units.h"
#include "simulator/graph/unit_order.h"

namespace emplace {
namespace {

// A chain is not contracted past this share of the smallest device, so that a graph too large for one device can still
// be split; and merging starts with groups of at most this multiple of the mean cost.
constexpr double kChainMemoryShare = 0.25;
constexpr double kFirstCostCap = 1.5;
constexpr double kCostCapGrowth = 1.5;

class Grouper {
 public:
  Grouper(const OpGraph& graph, const Cluster& cluster, const StopSignal& stop)
      : Grouper(graph, cluster, stop, MakeUnits(graph, cluster)) {}

  GroupedGraph Run(int32_t max_groups) {
    AcyclicContraction dag(num_units_, forward_edges_);
    if (max_groups == 0) return MakeGroups(dag);
    FoldZeroCost(dag);
    ContractChains(dag);
    return MergeToGroups(dag, max_groups);
  }

  std::vector<std::vector<GroupIndex>> RunByLevel(int32_t fewest) {
    AcyclicContraction dag(num_units_, forward_edges_);
    std::vector<std::vector<GroupIndex>> levels = {NumberOps(dag, NodesInOrder(dag))};
    FoldZeroCost(dag);
    ContractChains(dag);
    AddLevels(dag, fewest, levels);
    return levels;
  }

  // What both of the above give: they begin alike.
  Groupings RunBoth(int32_t max_groups, int32_t fewest) {
    AcyclicContraction dag(num_units_, forward_edges_);
    Groupings both;
    both.levels = {NumberOps(dag, NodesInOrder(dag))};
    if (max_groups == 0) both.groups = MakeGroups(dag);
    FoldZeroCost(dag);
    ContractChains(dag);
    if (max_groups > 0 && stop_.Now()) {
      both.groups = CutInOrder(dag, max_groups);
    } else if (max_groups > 0) {
      AcyclicContraction merged = dag;
      both.groups = Grouper(*this).MergeToGroups(merged, max_groups);
    }
    AddLevels(dag, fewest, both.levels);
    return both;
  }

 private:
  Grouper(const OpGraph& graph, const Cluster& cluster, const StopSignal& stop, OpUnits made)
      : graph_(graph),
        cluster_(cluster),
        stop_(stop),
        num_units_(static_cast<int32_t>(made.units.size())),
        groups_left_(num_units_),
        unit_of_op_(std::move(made.unit_of_op)),
        units_(std::move(made.units)),
        forward_edges_(std::move(made.forward_edges)),
        reads_(std::move(made.reads)) {}

  GroupedGraph MergeToGroups(AcyclicContraction& dag, int32_t max_groups) {
    MergeDown(dag, max_groups);
    return stop_.Now() ? CutInOrder(dag, max_groups) : MakeGroups(dag);
  }

  void AddLevels(AcyclicContraction& dag, int32_t fewest, std::vector<std::vector<GroupIndex>>& levels) {
    levels.push_back(NumberOps(dag, NodesInOrder(dag)));
    while (groups_left_ >= 2 * fewest && !stop_.Now()) {
      const int32_t most = std::max(fewest, groups_left_ / 2);
      MergeDown(dag, most);
      if (groups_left_ > most) break;  // `allowed` forbids every further merge, or there is no time for it.
      levels.push_back(NumberOps(dag, NodesInOrder(dag)));
    }
  }

  OpUnit& UnitAt(int32_t node) { return units_[static_cast<size_t>(node)]; }

  bool MayJoin(int32_t a, int32_t b) { return ShareADevice(UnitAt(a), UnitAt(b)); }

  void Join(int32_t a, int32_t b) {
    Absorb(UnitAt(std::max(a, b)), UnitAt(std::min(a, b)));
    --groups_left_;
  }

  bool TryMerge(AcyclicContraction& dag, int32_t from, int32_t to) {
    if (!MayJoin(from, to) || !dag.TryMergeAlong(from, to)) return false;
    Join(from, to);
    return true;
  }

  // What costs nothing is not worth a decision of its own: it goes with its first reader, or else with a producer.
  void FoldZeroCost(AcyclicContraction& dag) {
    for (int32_t node = num_units_ - 1; node >= 0 && !stop_.Now(); --node) {
      if (!dag.alive(node) || UnitAt(node).cost_us > 0) continue;
      if (TryFold(dag, node, dag.Successors(node), /*forward=*/true)) continue;
      TryFold(dag, node, dag.Predecessors(node), /*forward=*/false);
    }
  }

  bool TryFold(AcyclicContraction& dag, int32_t node, std::span<const int32_t> neighbours, bool forward) {
    const std::vector<int32_t> candidates(neighbours.begin(), neighbours.end());  // Merging changes the list.
    for (const int32_t other : candidates) {
      if (forward ? TryMerge(dag, node, other) : TryMerge(dag, other, node)) return true;
    }
    return false;
  }

  void ContractChains(AcyclicContraction& dag) {
    int64_t smallest = cluster_.devices.front().memory_bytes;
    for (const Device& device : cluster_.devices) smallest = std::min(smallest, device.memory_bytes);
    const double most_bytes = kChainMemoryShare * static_cast<double>(smallest);
    for (const int32_t start : dag.Order()) {
      if (stop_.Now()) return;
      int32_t node = start;
      while (dag.alive(node) && dag.Successors(node).size() == 1) {
        const int32_t next = dag.Successors(node).front();
        if (dag.Predecessors(next).size() != 1 || UnitAt(node).bytes + UnitAt(next).bytes > most_bytes) break;
        if (!TryMerge(dag, node, next)) break;
        node = dag.Find(node);
      }
    }
  }

  // Heaviest edges first, under a cap on cost that keeps groups even and grows until few enough are left. Before it
  // grows, what lies side by side in the order is merged too: where most merges would make a cycle, the few that would
  // not could otherwise end in one giant group.
  void MergeDown(AcyclicContraction& dag, int32_t max_groups) {
    double total_us = 0;
    for (int32_t node = 0; node < num_units_; ++node) total_us += dag.alive(node) ? UnitAt(node).cost_us : 0;
    double cap_us = kFirstCostCap * total_us / max_groups;
    while (groups_left_ > max_groups && !stop_.Now()) {
      const bool by_edge = MergeHeavyEdges(dag, max_groups, cap_us);
      const bool by_order = MergeInOrder(dag, max_groups, cap_us);
      if (!by_edge && !by_order && cap_us >= total_us) return;  // `allowed` forbids every further merge.
      cap_us *= kCostCapGrowth;
    }
  }

  // One pass over the edges. False: nothing merged.
  bool MergeHeavyEdges(AcyclicContraction& dag, int32_t max_groups, double cap_us) {
    bool merged = false;
    for (const GroupEdge& edge : HeaviestFirst(dag)) {
      if (groups_left_ <= max_groups || stop_.Now()) break;
      const int32_t from = dag.Find(edge.from);
      const int32_t to = dag.Find(edge.to);
      // An earlier merge of this pass may have joined them or taken the edge away.
      const std::span<const int32_t> next = dag.Successors(from);
      if (from == to || !std::binary_search(next.begin(), next.end(), to)) continue;
      if (UnitAt(from).cost_us + UnitAt(to).cost_us > cap_us) continue;
      merged = TryMerge(dag, from, to) || merged;
    }
    return merged;
  }

  std::vector<GroupEdge> HeaviestFirst(const AcyclicContraction& dag) {
    reads_.Rename([&](int32_t node) { return dag.Find(node); });
    std::vector<GroupEdge> edges = reads_.Edges();
    std::ranges::sort(edges, {},
                      [](const GroupEdge& edge) { return std::tuple(-edge.bytes, edge.from, edge.to); });
    return edges;
  }

  std::vector<int32_t> GroupOfOps(const AcyclicContraction& dag) const {
    std::vector<int32_t> group_of_op(unit_of_op_.size());
    for (size_t o = 0; o < group_of_op.size(); ++o) group_of_op[o] = dag.Find(unit_of_op_[o]);
    return group_of_op;
  }

  // Neighbours in topological order, which can always be merged: the cheapest pairs first, in passes over disjoint
  // pairs, until no pair is left under the cap. False: nothing merged.
  bool MergeInOrder(AcyclicContraction& dag, int32_t max_groups, double cap_us) {
    bool merged = false;
    while (groups_left_ > max_groups && !stop_.Now()) {
      const std::vector<int32_t> order = dag.Order();
      std::vector<std::pair<double, size_t>> pairs;  // Cost of the pair, index of its first.
      for (size_t i = 0; i + 1 < order.size(); ++i) {
        const double cost_us = UnitAt(order[i]).cost_us + UnitAt(order[i + 1]).cost_us;
        if (cost_us <= cap_us && MayJoin(order[i], order[i + 1])) pairs.push_back({cost_us, i});
      }
      if (pairs.empty()) return merged;
      std::sort(pairs.begin(), pairs.end());
      std::vector<bool> taken(order.size());
      std::vector<size_t> firsts;
      const size_t at_once = std::max<size_t>(1, pairs.size() / 4);
      for (size_t i = 0; i < at_once && groups_left_ > max_groups; ++i) {
        const size_t at = pairs[i].second;
        if (taken[at] || taken[at + 1]) continue;
        taken[at] = taken[at + 1] = true;
        firsts.push_back(at);
        Join(order[at], order[at + 1]);
      }
      MergePairs(dag, order, firsts);
      merged = true;
    }
    return merged;
  }

  // Merges each of these places in the order with the next one. Neighbours of many nodes are dear to merge one by one.
  static void MergePairs(AcyclicContraction& dag, const std::vector<int32_t>& order,
                         const std::vector<size_t>& firsts) {
    constexpr size_t kMany = 16;  // A pass over the whole graph costs about as much as order.size() / kMany merges.
    if (firsts.size() < order.size() / kMany) {
      for (const size_t at : firsts) dag.MergeNeighbours(order[at], order[at + 1]);
      return;
    }
    std::vector<bool> with_next(order.size());
    for (const size_t at : firsts) with_next[at] = true;
    dag.MergeRuns(order, with_next);
  }

  // Where there is no time to merge: stretches of the order, filled one after the other up to an even cost.
  GroupedGraph CutInOrder(const AcyclicContraction& dag, int32_t max_groups) const {
    double total_us = 0;
    for (const int32_t node : dag.Order()) total_us += units_[static_cast<size_t>(node)].cost_us;
    // Two stretches next to each other cost more than this, so there are no more than max_groups.
    const double cap_us = 2 * total_us / max_groups;
    std::vector<OpUnit> stretches;
    std::vector<GroupIndex> number(static_cast<size_t>(num_units_), -1);
    for (const int32_t node : dag.Order()) {
      const OpUnit& unit = units_[static_cast<size_t>(node)];
      const bool fits = !stretches.empty() && stretches.back().cost_us + unit.cost_us <= cap_us &&
                        ShareADevice(stretches.back(), unit);
      if (fits) {
        Absorb(unit, stretches.back());
      } else {
        stretches.push_back(unit);
      }
      number[static_cast<size_t>(node)] = static_cast<GroupIndex>(stretches.size()) - 1;
    }
    return MakeGroups(NumbersOfOps(dag, number), stretches);
  }

  // The nodes that are left, in topological order: of the ready ones, the one with the earliest op first.
  std::vector<int32_t> NodesInOrder(const AcyclicContraction& dag) const {
    std::vector<int32_t> missing(static_cast<size_t>(num_units_));
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (int32_t node = 0; node < num_units_; ++node) {
      if (!dag.alive(node)) continue;
      missing[static_cast<size_t>(node)] = static_cast<int32_t>(dag.Predecessors(node).size());
      if (missing[static_cast<size_t>(node)] == 0) ready.push(node);
    }
    std::vector<int32_t> nodes;
    while (!ready.empty()) {
      const int32_t node = ready.top();
      ready.pop();
      nodes.push_back(node);
      for (const int32_t next : dag.Successors(node)) {
        if (--missing[static_cast<size_t>(next)] == 0) ready.push(next);
      }
    }
    EMPLACE_CHECK(std::ssize(nodes) == groups_left_);
    return nodes;
  }

  // [num_ops] the place of each op's node in `nodes`, which has all that are left.
  std::vector<GroupIndex> NumberOps(const AcyclicContraction& dag, const std::vector<int32_t>& nodes) const {
    std::vector<GroupIndex> number(static_cast<size_t>(num_units_), -1);
    for (size_t i = 0; i < nodes.size(); ++i) number[static_cast<size_t>(nodes[i])] = static_cast<GroupIndex>(i);
    return NumbersOfOps(dag, number);
  }

  // [num_ops] the number [num_units] of each op's node.
  std::vector<GroupIndex> NumbersOfOps(const AcyclicContraction& dag, const std::vector<GroupIndex>& number) const {
    std::vector<GroupIndex> group_of_op = GroupOfOps(dag);
    for (GroupIndex& group : group_of_op) group = number[static_cast<size_t>(group)];
    return group_of_op;
  }

  GroupedGraph MakeGroups(const AcyclicContraction& dag) const {
    const std::vector<int32_t> nodes = NodesInOrder(dag);
    std::vector<OpUnit> groups;
    for (const int32_t node : nodes) groups.push_back(units_[static_cast<size_t>(node)]);
    return MakeGroups(NumberOps(dag, nodes), groups);
  }

  GroupedGraph MakeGroups(std::vector<GroupIndex> group_of_op, const std::vector<OpUnit>& groups) const {
    GroupedGraph grouped;
    grouped.num_groups = static_cast<int32_t>(groups.size());
    grouped.group_of_op = std::move(group_of_op);
    for (const OpUnit& group : groups) {
      grouped.cost_us.push_back(group.cost_us);
      grouped.allowed.insert(grouped.allowed.end(), group.allowed.begin(), group.allowed.end());
    }
    grouped.output_bytes.resize(groups.size());
    grouped.memory_bytes.resize(groups.size());
    for (size_t o = 0; o < grouped.group_of_op.size(); ++o) {
      const auto group = static_cast<size_t>(grouped.group_of_op[o]);
      const Op& op = graph_.ops()[o];
      grouped.output_bytes[group] += op.OutputBytes();
      grouped.memory_bytes[group] += op.AllBytes();
    }
    for (const GroupEdge& edge : GroupReads(graph_, grouped.group_of_op).Edges()) {
      (edge.from < edge.to ? grouped.edges : grouped.feedback_edges).push_back(edge);
    }
    return grouped;
  }

  const OpGraph& graph_;
  const Cluster& cluster_;
  const StopSignal& stop_;
  int32_t num_units_;
  int32_t groups_left_;
  std::vector<int32_t> unit_of_op_;      // [num_ops]
  std::vector<OpUnit> units_;            // [num_units]; of dead ones, what they were
  std::vector<UnitEdge> forward_edges_;  // Between units, to higher ones.
  GroupReads reads_;                     // Of units, by the nodes that they were at the last look.
};

}  // namespace

GroupedGraph GroupOps(const OpGraph& graph, const Cluster& cluster, int32_t max_groups, const StopSignal& stop) {
  EMPLACE_CHECK(max_groups >= 0);
  return Grouper(graph, cluster, stop).Run(max_groups);
}

std::vector<std::vector<GroupIndex>> GroupOpsByLevel(const OpGraph& graph, const Cluster& cluster, int32_t fewest,
                                                     const StopSignal& stop) {
  EMPLACE_CHECK(fewest >= 1);
  return Grouper(graph, cluster, stop).RunByLevel(fewest);
}

Groupings GroupOpsBothWays(const OpGraph& graph, const Cluster& cluster, int32_t max_groups, int32_t fewest,
                           const StopSignal& stop) {
  EMPLACE_CHECK(max_groups >= 0 && fewest >= 1);
  return Grouper(graph, cluster, stop).RunBoth(max_groups, fewest);
}

}  // namespace emplace
