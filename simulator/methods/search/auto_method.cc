#include "simulator/methods/search/auto_method.h"

#include <array>
#include <limits>

#include "simulator/methods/search/portfolio_search.h"

namespace emplace {
namespace {

// What each was measured against: docs/design-search.md.
constexpr double kFamily = 0.3;
constexpr double kColumn = 0.8;

constexpr std::array<PassPlan, 1> kAutoPasses = {{
    {.most_groups = std::numeric_limits<int32_t>::max(),
     .mix = {.family = kFamily, .column = kColumn},
     .hot = 0.002,
     .cold = 0.00002,
     .only_levels_that_pay = true,
     .most_heat = 10,
     .warmer_end_on_two = 5},
}};

constexpr MoveMix kSeveralGroups = {.family = kFamily, .neighbours = 0.15, .swap = 0.15, .column = kColumn};

constexpr PassPlan kOrderedPass = {.most_groups = std::numeric_limits<int32_t>::max(),
                                   .mix = kSeveralGroups,
                                   .hot = 0.002,
                                   .cold = 0.00002,
                                   .only_levels_that_pay = true,
                                   .most_heat = 10};

// It leaves the small differences to the whole graph.
constexpr PassPlan kCoarsePass = [] {
  PassPlan pass = kOrderedPass;
  pass.cold = 0.00008;
  return pass;
}();

constexpr FewUnits kFewUnits = {.most_units = 500, .mix = kSeveralGroups, .hot_by_units = 1.5};

}  // namespace

AutoMethod::AutoMethod(const MethodOptions& options) : options_(options) { CheckSearchLimits(options); }

MethodResult AutoMethod::Place(const PlacementTask& task) {
  return SearchFromPortfolio(task, options_,
                             {.passes = kAutoPasses,
                              .few_units = kFewUnits,
                              .found_by = "search",
                              .ordered = &kOrderedPass,
                              .coarse = &kCoarsePass,
                              .anneals_short_searches = true});
}

}  // namespace emplace
