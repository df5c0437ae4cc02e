// Placements that wait to be measured. It hands out none twice.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actor/hardware/search/scaled_costs.h"
#include "simulator/graph/placement.h"

namespace emplace {

struct Candidate {
  OrderedPlacement placement;
  std::string origin;  // What found it, for people: "auto, corrected costs".
};

// How a placed step is simulated.
struct SimulatedStep {
  double us = 0;
  int64_t bytes_over = 0;  // Bytes over the memory, summed over devices.
};
SimulatedStep Simulate(const Costs& costs, const OrderedPlacement& placement);
// The same placement with an order for each device: where it has none, that in which the simulated step starts ops. So
// what is measured is all in the placement.
OrderedPlacement WithAllOrders(const Costs& costs, const OrderedPlacement& placement);

// Not thread-safe.
class CandidatePool {
 public:
  // The pool never takes a candidate with this placement, in whatever order.
  void Forbid(const Placement& placement) { known_.insert(placement); }
  // Returns whether the placement is new to the pool, which only then takes the candidate.
  bool Add(Candidate candidate);
  // Takes out the one that was added last. REQUIRES: there is one.
  Candidate TakeNewest();
  // Takes out the one that fits the memory best, and of these the one with the shortest step by these costs. nullopt:
  // the pool is empty.
  std::optional<Candidate> TakeFastest(const Costs& costs);

 private:
  std::vector<Candidate> waiting_;
  std::set<Placement> known_;
};

}  // namespace emplace
