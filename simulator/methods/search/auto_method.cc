#include "simulator/methods/search/auto_method.h"

#include <array>
#include <limits>

#include "simulator/methods/search/portfolio_search.h"

namespace emplace {
namespace {

// On 32 pairs of a graph and a machine (1 s, eight seeds) this takes 0.5% off the makespan, and on some, such as nmt on
// two K80s with a slow link, 4%; 0.25 and 0.4 are level.
constexpr double kFamily = 0.3;

// On 26 pairs of a graph and a machine (1 s, two threads, two seeds) this takes 3.2% off the makespan: up to 23% on
// networks of convolutions, whose searches from one device otherwise often leave half of the graph there; unrolled
// LSTMs on four and eight devices are 6% better to 5% worse. 0.5 is 0.8% worse (five seeds), most with slow links, and
// level at 0.15 s; 1 is level.
constexpr double kColumn = 0.8;

constexpr std::array<PassPlan, 1> kAutoPasses = {{
    {.most_groups = std::numeric_limits<int32_t>::max(),
     .mix = {.family = kFamily, .column = kColumn},
     .hot = 0.002,
     .cold = 0.00002,
     .only_levels_that_pay = true,
     .most_heat = 10,
     // On a P100 beside a K80 this takes 0.2% (0.1 s), 0.6% (1 s) and 2.5% (10 s) off the makespan, and on two K80s it
     // changes nothing beyond the error; on four devices the same end costs up to 1.2% (5 to 9 graphs, one to four
     // seeds).
     .warmer_end_on_two = 5},
}};

// Moves of several groups are worth 0.2 to 0.8% with orders (32 pairs of a graph and a machine, 1 s, two or three
// seeds).
constexpr MoveMix kSeveralGroups = {.family = kFamily, .neighbours = 0.15, .swap = 0.15, .column = kColumn};

// On 16 pairs, three times the heat and a fifth of the cold end were level; a third of the heat, and an end five times
// as warm, were 1% worse.
constexpr PassPlan kOrderedPass = {.most_groups = std::numeric_limits<int32_t>::max(),
                                   .mix = kSeveralGroups,
                                   .hot = 0.002,
                                   .cold = 0.00002,
                                   .only_levels_that_pay = true,
                                   .most_heat = 10};

// It leaves the small differences to the whole graph. Ends at 0.00002 and at 0.0003 were level (30 pairs, 1 s, three
// seeds).
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
