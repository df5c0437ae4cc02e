// The check that SimGraph::Compile makes. SimGraph::Validate, in sim_graph_check.cc, makes it and all others.
#pragma once

#include "simulator/engine/sim_graph.h"

namespace emplace {

// Throws BadInput when the times of all ops and all transfers, which no run can exceed, add up to 2^63 us or more.
void CheckLongestRun(const SimGraph& graph);

}  // namespace emplace
