// Random placements that an executor can run.
#pragma once

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Every op on a device of its own draw; ops of one group together.
Placement GroupedPlacement(Rng& rng, const OpGraph& graph, const Cluster& cluster);

}  // namespace emplace
