#include "simulator/graph/unit_merger.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "common/error.h"

namespace emplace {

UnitMerger::UnitMerger(OpUnits units)
    : unit_of_op_(std::move(units.unit_of_op)),
      units_(std::move(units.units)),
      dag_(static_cast<int32_t>(units_.size()), units.forward_edges),
      reads_(std::move(units.reads)),
      groups_left_(static_cast<int32_t>(units_.size())) {}

void UnitMerger::Join(int32_t a, int32_t b) {
  Absorb(UnitAt(std::max(a, b)), UnitAt(std::min(a, b)));
  --groups_left_;
}

bool UnitMerger::TryMerge(int32_t from, int32_t to) {
  if (!MayJoin(from, to) || !dag_.TryMergeAlong(from, to)) return false;
  Join(from, to);
  return true;
}

bool UnitMerger::TryMergeLosingNoDevice(int32_t from, int32_t to) {
  return LosesNoDevice(UnitAt(from), UnitAt(to)) && TryMerge(from, to);
}

void UnitMerger::FoldZeroCost(const StopSignal& stop) {
  for (auto node = static_cast<int32_t>(units_.size()) - 1; node >= 0 && !stop.Now(); --node) {
    if (!dag_.alive(node) || UnitAt(node).cost_us > 0) continue;
    if (TryFold(node, dag_.Successors(node), /*forward=*/true)) continue;
    TryFold(node, dag_.Predecessors(node), /*forward=*/false);
  }
}

bool UnitMerger::TryFold(int32_t node, std::span<const int32_t> neighbours, bool forward) {
  const std::vector<int32_t> candidates(neighbours.begin(), neighbours.end());  // Merging changes the list.
  for (const int32_t other : candidates) {
    if (forward ? TryMergeLosingNoDevice(node, other) : TryMergeLosingNoDevice(other, node)) return true;
  }
  return false;
}

void UnitMerger::ContractChains(double most_bytes, const StopSignal& stop) {
  for (const int32_t start : dag_.Order()) {
    if (stop.Now()) return;
    int32_t node = start;
    while (dag_.alive(node) && dag_.Successors(node).size() == 1) {
      const int32_t next = dag_.Successors(node).front();
      if (dag_.Predecessors(next).size() != 1 || UnitAt(node).bytes + UnitAt(next).bytes > most_bytes) break;
      if (!TryMergeLosingNoDevice(node, next)) break;
      node = dag_.Find(node);
    }
  }
}

void UnitMerger::MergeDown(int32_t most_groups, const StopSignal& stop) {
  double total_us = 0;
  for (size_t node = 0; node < units_.size(); ++node)
    total_us += dag_.alive(static_cast<int32_t>(node)) ? units_[node].cost_us : 0;
  double cap_us = kFirstCostCap * total_us / most_groups;
  while (groups_left_ > most_groups && !stop.Now()) {
    const bool by_edge = MergeHeavyEdges(most_groups, cap_us, stop);
    const bool by_order = MergeInOrder(most_groups, cap_us, stop);
    if (!by_edge && !by_order && cap_us >= total_us) return;  // `allowed` forbids every further merge.
    cap_us *= kCostCapGrowth;
  }
}

// One pass over the edges. False: nothing merged.
bool UnitMerger::MergeHeavyEdges(int32_t most_groups, double cap_us, const StopSignal& stop) {
  bool merged = false;
  for (const GroupEdge& edge : HeaviestFirst()) {
    if (groups_left_ <= most_groups || stop.Now()) break;
    const int32_t from = dag_.Find(edge.from);
    const int32_t to = dag_.Find(edge.to);
    // An earlier merge of this pass may have joined them or taken the edge away.
    const std::span<const int32_t> next = dag_.Successors(from);
    if (from == to || !std::binary_search(next.begin(), next.end(), to)) continue;
    if (UnitAt(from).cost_us + UnitAt(to).cost_us > cap_us) continue;
    merged = TryMerge(from, to) || merged;
  }
  return merged;
}

std::vector<GroupEdge> UnitMerger::HeaviestFirst() {
  reads_.Rename([&](int32_t node) { return dag_.Find(node); });
  std::vector<GroupEdge> edges = reads_.Edges();
  std::ranges::sort(edges, {}, [](const GroupEdge& edge) { return std::tuple(-edge.bytes, edge.from, edge.to); });
  return edges;
}

// Neighbours in topological order, which can always be merged: the cheapest pairs first, in passes over disjoint
// pairs, until no pair is left under the cap. False: nothing merged.
bool UnitMerger::MergeInOrder(int32_t most_groups, double cap_us, const StopSignal& stop) {
  bool merged = false;
  while (groups_left_ > most_groups && !stop.Now()) {
    const std::vector<int32_t> order = dag_.Order();
    const std::vector<std::pair<double, size_t>> pairs = CheapestPairs(order, cap_us);
    if (pairs.empty()) return merged;
    std::vector<bool> taken(order.size());
    std::vector<size_t> firsts;
    const size_t at_once = std::max<size_t>(1, pairs.size() / 4);
    for (size_t i = 0; i < at_once && groups_left_ > most_groups; ++i) {
      const size_t at = pairs[i].second;
      if (taken[at] || taken[at + 1]) continue;
      taken[at] = taken[at + 1] = true;
      firsts.push_back(at);
      Join(order[at], order[at + 1]);
    }
    MergePairs(order, firsts);
    merged = true;
  }
  return merged;
}

// Those that may be merged under the cap: cost of the pair, place of its first in the order.
std::vector<std::pair<double, size_t>> UnitMerger::CheapestPairs(const std::vector<int32_t>& order, double cap_us) {
  std::vector<std::pair<double, size_t>> pairs;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const double cost_us = UnitAt(order[i]).cost_us + UnitAt(order[i + 1]).cost_us;
    if (cost_us <= cap_us && MayJoin(order[i], order[i + 1])) pairs.push_back({cost_us, i});
  }
  std::ranges::sort(pairs);
  return pairs;
}

// Merges each of these places in the order with the next one. Neighbours of many nodes are dear to merge one by one.
void UnitMerger::MergePairs(const std::vector<int32_t>& order, const std::vector<size_t>& firsts) {
  constexpr size_t kMany = 16;  // A pass over the whole graph costs about as much as order.size() / kMany merges.
  if (firsts.size() < order.size() / kMany) {
    for (const size_t at : firsts) dag_.MergeNeighbours(order[at], order[at + 1]);
    return;
  }
  std::vector<bool> with_next(order.size());
  for (const size_t at : firsts) with_next[at] = true;
  dag_.MergeRuns(order, with_next);
}

MergedUnits UnitMerger::CutInOrder(int32_t most_groups) const {
  double total_us = 0;
  for (const int32_t node : dag_.Order()) total_us += units_[static_cast<size_t>(node)].cost_us;
  // Two stretches next to each other cost more than this, so there are no more than most_groups.
  const double cap_us = 2 * total_us / most_groups;
  std::vector<OpUnit> stretches;
  std::vector<GroupIndex> number(units_.size(), -1);
  for (const int32_t node : dag_.Order()) {
    const OpUnit& unit = units_[static_cast<size_t>(node)];
    const bool fits =
        !stretches.empty() && stretches.back().cost_us + unit.cost_us <= cap_us && ShareADevice(stretches.back(), unit);
    if (fits) {
      Absorb(unit, stretches.back());
    } else {
      stretches.push_back(unit);
    }
    number[static_cast<size_t>(node)] = static_cast<GroupIndex>(stretches.size()) - 1;
  }
  return {NumbersOfOps(number), std::move(stretches)};
}

// The nodes that are left, in topological order: of the ready ones, the one with the earliest op first.
std::vector<int32_t> UnitMerger::NodesInOrder() const {
  std::vector<int32_t> missing(units_.size());
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < units_.size(); ++i) {
    const auto node = static_cast<int32_t>(i);
    if (!dag_.alive(node)) continue;
    missing[i] = static_cast<int32_t>(dag_.Predecessors(node).size());
    if (missing[i] == 0) ready.push(node);
  }
  std::vector<int32_t> nodes;
  while (!ready.empty()) {
    const int32_t node = ready.top();
    ready.pop();
    nodes.push_back(node);
    for (const int32_t next : dag_.Successors(node)) {
      if (--missing[static_cast<size_t>(next)] == 0) ready.push(next);
    }
  }
  EMPLACE_CHECK(std::ssize(nodes) == groups_left_);
  return nodes;
}

MergedUnits UnitMerger::Merged() const {
  MergedUnits merged = {.group_of_op = GroupOfOp(), .groups = {}};
  for (const int32_t node : NodesInOrder()) merged.groups.push_back(units_[static_cast<size_t>(node)]);
  return merged;
}

std::vector<GroupIndex> UnitMerger::GroupOfOp() const {
  std::vector<GroupIndex> number(units_.size(), -1);
  GroupIndex next = 0;
  for (const int32_t node : NodesInOrder()) number[static_cast<size_t>(node)] = next++;
  return NumbersOfOps(number);
}

// [num_ops] the number [units] of each op's node.
std::vector<GroupIndex> UnitMerger::NumbersOfOps(const std::vector<GroupIndex>& number) const {
  std::vector<GroupIndex> group_of_op;
  group_of_op.reserve(unit_of_op_.size());
  for (const int32_t unit : unit_of_op_) group_of_op.push_back(number[static_cast<size_t>(dag_.Find(unit))]);
  return group_of_op;
}

}  // namespace emplace
