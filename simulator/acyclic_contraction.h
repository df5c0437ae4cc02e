// A directed acyclic graph whose nodes can be merged without ever making a cycle. Keeps a topological order up to date
// while nodes merge, moving only what lies between the two (after Pearce and Kelly, "A dynamic topological sort
// algorithm for directed acyclic graphs", 2006), so that a merge costs what it disturbs and not the whole graph.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

// Nodes are 0..n-1; after a merge the two are known by the lower of their names. Not thread-safe.
class AcyclicContraction {
 public:
  // REQUIRES: edges lead from lower to higher nodes.
  AcyclicContraction(int32_t nodes, std::span<const std::pair<int32_t, int32_t>> edges);

  // Merges along the edge from -> to, unless another path leads from the one to the other (they would form a cycle) or
  // the search for one grows past an internal limit. False: nothing changed. REQUIRES: both are alive and the edge
  // exists.
  bool TryMergeAlong(int32_t from, int32_t to);
  // Merges two nodes that follow each other in the current topological order; always possible.
  void MergeNeighbours(int32_t first, int32_t second);

  int32_t Find(int32_t node) const;  // The name under which it is alive.
  bool alive(int32_t node) const { return merged_into_[static_cast<size_t>(node)] == node; }
  // Alive, ascending, no repeats.
  std::span<const int32_t> Successors(int32_t node) const { return successors_[static_cast<size_t>(node)]; }
  std::span<const int32_t> Predecessors(int32_t node) const { return predecessors_[static_cast<size_t>(node)]; }
  std::vector<int32_t> Order() const;  // The alive nodes in topological order.

 private:
  bool CollectBetween(int32_t start, const std::vector<std::vector<int32_t>>& next, int32_t skip, int32_t low,
                      int32_t high, std::vector<int32_t>& found);
  void Join(int32_t from, int32_t to);

  mutable std::vector<int32_t> merged_into_;        // [n] path-halved by Find
  std::vector<std::vector<int32_t>> successors_;    // [n]
  std::vector<std::vector<int32_t>> predecessors_;  // [n]
  std::vector<int32_t> position_;                   // [n] in the topological order; gaps where nodes were merged
  std::vector<int32_t> node_at_;                    // [n] -1 where there is a gap
  std::vector<uint32_t> seen_in_;                   // [n] number of the search that saw it last
  uint32_t search_ = 0;
};

}  // namespace emplace
