// `annealing`: simulated annealing over group placements from several starts, then greedy local search from the best
// one. A graph's headroom is measured with this method.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class AnnealingMethod : public SearchingMethod {
 public:
  using SearchingMethod::SearchingMethod;
  bool places_groups() const override { return true; }
  // The result is never worse than that of `single`. Uses the whole budget or time, unless there is only one placement.
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
