// Orders and longest paths of a graph, without a placement.
#pragma once

#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// A topological order [n]; of ops that are ready together, the one that was ready first comes first.
std::vector<OpIndex> TopologicalOrder(const SimGraph& graph);

// The cost of each op [n] in us on the device where it is fastest.
std::vector<double> LeastCostsUs(const SimGraph& graph);

// The tail of each op [n]: the longest path in us from its end to the end of the graph, with each op at its least cost
// and without transfers. No run can be shorter than the end of an op plus its tail.
std::vector<double> TailsUs(const SimGraph& graph);

}  // namespace emplace
