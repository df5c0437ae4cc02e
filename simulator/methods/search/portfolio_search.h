// The part that `auto` and `multilevel` share: the best of the portfolio, improved by passes of a walk.
#pragma once

#include "simulator/methods/placement_method.h"
#include "simulator/methods/search/search_plan.h"

namespace emplace {

// The result is never worse than any of the portfolio, and with a budget alone does not depend on the number of
// threads. REQUIRES: CheckSearchLimits.
MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan);

}  // namespace emplace
