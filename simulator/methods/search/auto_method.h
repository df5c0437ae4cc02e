// `auto`: the best of a portfolio of methods, improved by a search until the time or the budget is over. For
// Objective::kThroughput these are another portfolio and another search (throughput/throughput_search.h).
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class AutoMethod : public SearchingMethod {
 public:
  using SearchingMethod::SearchingMethod;
  bool places_groups() const override { return options_.PolicyPlacesGroups(); }
  // The result is never worse than that of a method of the portfolio (search/portfolio.h), in the order in which its
  // ops get ready or in that of their ranks. With a budget alone it does not depend on the number of threads, and is
  // never worse than with a smaller budget.
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
