// What SimGraph::Compile checks of a graph that is right in all else; SimGraph::Validate, in the same file, checks
// everything.
#pragma once

#include "simulator/sim_graph.h"

namespace emplace {

// No run can take longer than all ops and all transfers one after the other; a time past any double would never come.
// Throws BadInput when they add up to 2^63 us or more.
void CheckLongestRun(const SimGraph& graph);

}  // namespace emplace
