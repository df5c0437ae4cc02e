// `multilevel`: simulated annealing from the best of the portfolio, moving groups of a graph at several levels, from
// coarse groups to fine ones, twice. The comparison with it shows what `auto` gains by the rest.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class MultilevelMethod : public SearchingMethod {
 public:
  using SearchingMethod::SearchingMethod;
  bool places_groups() const override { return options_.PolicyPlacesGroups(); }
  // The result is never worse than that of a method of the portfolio.
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
