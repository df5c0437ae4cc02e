// `local-search`: greedy descent by small random moves of groups, repeated from random placements. The comparison with
// it shows what annealing gains.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class LocalSearchMethod : public SearchingMethod {
 public:
  using SearchingMethod::SearchingMethod;
  bool places_groups() const override { return true; }
  // The first descent starts from the best single device. Uses the whole budget, unless there is only one placement.
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
