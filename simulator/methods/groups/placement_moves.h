// Small random changes of a group placement, for local searches.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/task/group_graph.h"

namespace emplace {

// Most moves put one group on another device. Some swap the devices of two groups, or put a stretch of the topological
// order on one device: in a layered network that shifts a border between devices, where moves of single groups would
// make the makespan worse first. The same generator gives the same moves. Not thread-safe.
class PlacementMoves {
 public:
  // REQUIRES: graph outlives the moves.
  explicit PlacementMoves(const GroupGraph& graph);

  // Whether there is more than one placement.
  bool any() const { return !movable_.empty(); }
  // Changes groups [n] at random into another legal placement. REQUIRES: any().
  void Apply(Rng& rng, std::vector<uint8_t>& groups) const;

 private:
  void MoveOne(Rng& rng, std::vector<uint8_t>& groups) const;
  // These two return whether they changed anything.
  bool SwapTwo(Rng& rng, std::vector<uint8_t>& groups) const;
  bool MoveStretch(Rng& rng, std::vector<uint8_t>& groups) const;

  const GroupGraph& graph_;
  std::vector<size_t> movable_;  // Groups that may run on more than one device.
};

}  // namespace emplace
