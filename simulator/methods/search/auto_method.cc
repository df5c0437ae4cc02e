#include "simulator/methods/search/auto_method.h"

#include <array>
#include <limits>

#include "simulator/methods/planner_parameters.h"
#include "simulator/methods/search/portfolio_search.h"
#include "simulator/methods/search/throughput/throughput_search.h"

namespace emplace {
namespace {

constexpr double kNoHeat = 1e-9;

PassPlan PassOf(const MoveMix& mix, const WalkHeat& heat) {
  return {.most_groups = std::numeric_limits<int32_t>::max(),
          .mix = mix,
          .hot = heat.hot,
          .cold = heat.cold,
          .only_levels_that_pay = true,
          .most_heat = heat.most_heat};
}

PassPlan FirstPass(const SearchParameters& search) {
  MoveMix mix = search.mix;
  mix.neighbours = 0;
  mix.swap = 0;
  PassPlan pass = PassOf(mix, search.first);
  pass.warmer_end_on_two = search.warmer_end_on_two;
  return pass;
}

}  // namespace

MethodResult AutoMethod::Place(const PlacementTask& task) {
  if (options_.objective == Objective::kThroughput) return SearchForThroughput(task, options_);
  const SearchParameters search = options_.planner ? options_.planner->search : SearchParameters();
  const std::array<PassPlan, 1> passes = {FirstPass(search)};
  const PassPlan ordered = PassOf(search.mix, search.ordered);
  const PassPlan coarse = PassOf(search.mix, search.coarse);
  // Only moves that make the step no longer, so that one level is enough: they are of all levels.
  const PassPlan relief = {.most_groups = 1, .mix = {.relief = 1}, .hot = kNoHeat, .cold = kNoHeat};
  return SearchFromPortfolio(
      task, options_,
      {.phases = search.phases,
       .passes = passes,
       .few_units = {.most_units = search.few_units, .mix = search.mix, .hot_by_units = search.few_units_hot},
       .found_by = "search",
       .ordered = &ordered,
       .coarse = &coarse,
       .relief = &relief,
       .anneals_short_searches = true});
}

}  // namespace emplace
