// A directed acyclic graph whose nodes can be merged without ever making a cycle. It keeps a topological order up to
// date while nodes merge. A merge moves only the nodes between the two in this order (after Pearce and Kelly, "A
// dynamic topological sort algorithm for directed acyclic graphs", 2006), so it does not cost time for the whole graph.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/graph/neighbour_lists.h"

namespace emplace {

// Nodes are 0..n-1. Two merged nodes are known by the lower of their numbers. Not thread-safe.
class AcyclicContraction {
 public:
  // REQUIRES: edges lead from lower to higher nodes.
  AcyclicContraction(int32_t nodes, std::span<const std::pair<int32_t, int32_t>> edges);

  // Merges the two nodes of the edge from -> to. Returns false, with nothing changed, when another path leads from the
  // one to the other, so that the merge would make a cycle, or when the search for such a path grows past an internal
  // limit. REQUIRES: both nodes are alive and the edge exists.
  bool TryMergeAlong(int32_t from, int32_t to);
  // Merges two nodes that follow each other in the current topological order, which is always possible.
  void MergeNeighbours(int32_t first, int32_t second);
  // Merges each node of `order` (Order()) for which with_next is true with the one that follows it. Takes time for the
  // whole graph, however many merge. with_next: [order.size()], false for the last.
  void MergeRuns(const std::vector<int32_t>& order, const std::vector<bool>& with_next);

  int32_t Find(int32_t node) const;  // The number under which the node is alive.
  bool alive(int32_t node) const { return merged_into_[static_cast<size_t>(node)] == node; }
  // The alive neighbours of an alive node, ascending, no repeats. They hold until the next merge.
  std::span<const int32_t> Successors(int32_t node) const { return successors_.At(node); }
  std::span<const int32_t> Predecessors(int32_t node) const { return predecessors_.At(node); }
  std::vector<int32_t> Order() const;  // The alive nodes in topological order.

 private:
  bool CollectBetween(int32_t start, const NeighbourLists& next, int32_t skip, int32_t low, int32_t high,
                      std::vector<int32_t>& found);
  void Join(int32_t from, int32_t to);
  // The lists of the nodes that are left once those of `order` have been merged.
  NeighbourLists Renamed(const NeighbourLists& lists, const std::vector<int32_t>& order) const;

  mutable std::vector<int32_t> merged_into_;  // [n] path-halved by Find
  NeighbourLists successors_;
  NeighbourLists predecessors_;
  std::vector<int32_t> position_;  // [n] in the topological order; gaps where nodes were merged
  std::vector<int32_t> node_at_;   // [n] -1 where there is a gap
  std::vector<uint32_t> seen_in_;  // [n] number of the search that saw it last
  uint32_t search_ = 0;
  std::vector<int32_t> after_;   // Of TryMergeAlong: what it reaches from the one node,
  std::vector<int32_t> before_;  // and what reaches the other one.
  std::vector<int32_t> joined_;  // Of Join.
};

}  // namespace emplace
