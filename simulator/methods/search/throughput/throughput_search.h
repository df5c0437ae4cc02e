// What `auto` does for Objective::kThroughput: the least load of the busiest device (max_load.h) that annealing finds,
// from the best of `single`, `expert` and the contiguous division of `dp`, or, where none of them fits the memory, of a
// search for what fits. Stages need not be contiguous: a device may have several parts of the graph, as Tarnawski et
// al. allow in the second of their problems (NeurIPS 2020).
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

// Of the options it follows budget, seconds, seed, threads and stop. 200 moves take about as long as a simulation and
// count as one evaluation. What it begins from comes, and counts, whatever the budget is. With a budget alone the
// result is the same for any number of threads, and never worse than with a smaller one. REQUIRES: task has levels.
MethodResult SearchForThroughput(const PlacementTask& task, const MethodOptions& options);

}  // namespace emplace
