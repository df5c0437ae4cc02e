// Small random changes of a group placement, for local searches.
#pragma once

#include <cstdint>
#include <vector>

#include "common/policy/policy_graph.h"
#include "common/rng.h"

namespace emplace {

// Mostly one group to another device; now and then two groups change places, or a stretch of the topological order goes
// to one device: in a layered net that shifts a border between devices, which single groups cross only uphill.
// Deterministic in the generator. Not thread-safe.
class PlacementMoves {
 public:
  // REQUIRES: graph outlives it.
  explicit PlacementMoves(const PolicyGraph& graph);

  // Whether there is more than one placement.
  bool any() const { return !movable_.empty(); }
  // Changes `groups` [n] at random into another placement, every device allowed. REQUIRES: any().
  void Apply(Rng& rng, std::vector<uint8_t>& groups) const;

 private:
  bool Allowed(size_t group, size_t device) const { return graph_.allowed[group * devices_ + device] == 1; }
  size_t AnyMovable(Rng& rng) const;
  void MoveOne(Rng& rng, std::vector<uint8_t>& groups) const;
  // These two return whether they changed anything.
  bool SwapTwo(Rng& rng, std::vector<uint8_t>& groups) const;
  bool MoveStretch(Rng& rng, std::vector<uint8_t>& groups) const;

  const PolicyGraph& graph_;
  size_t devices_;
  std::vector<size_t> movable_;  // Groups that may run on more than one device.
};

}  // namespace emplace
