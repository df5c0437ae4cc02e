// Some ops of a graph, on the same machine.
#pragma once

#include <span>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// The ops `kept`, which get the numbers from 0 on in this order, with the tensors that one of them makes and another
// one reads. What an op keeps for others counts as memory still. kept: ascending.
SimGraph Subgraph(const SimGraph& whole, std::span<const OpIndex> kept);

}  // namespace emplace
