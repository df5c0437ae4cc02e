// The part that `auto` and `multilevel` share: the best of the portfolio, improved by passes of a walk.
#pragma once

#include <span>
#include <string>

#include "simulator/methods/placement_method.h"
#include "simulator/methods/search/move_generator.h"

namespace emplace {

// A pass as the methods fix it (search/pass.h).
struct PassPlan {
  int32_t most_groups;  // The pass ends at the finest level with as many groups at most.
  MoveMix mix;
  double hot;
  double cold;
};

// Passes have equal parts of what the portfolio leaves of the time or budget. found_by: the name under which a result
// of the walk is reported. The result is never worse than any of the portfolio, and with a budget alone does not depend
// on the number of threads. REQUIRES: CheckSearchLimits.
MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options,
                                 std::span<const PassPlan> passes, const std::string& found_by);

}  // namespace emplace
