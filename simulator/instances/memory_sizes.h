// How much memory the devices of an instance have.
#pragma once

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Spreads the bytes of a graph over the devices, in proportion to their memory: stretches of a topological order or, of
// two ways the one that needs less, layers together with their backward passes. Depends on the ratios of the devices'
// memory alone. Ops that must be together are, and are on a device that may run them.
Placement SpreadBytes(const OpGraph& graph, const Cluster& cluster);

// Multiplies the memory of all devices by one number, so that the placement of SpreadBytes fits: often with only 5% to
// spare, often so that any device could hold everything, else in between. REQUIRES: the memory is that of
// DrawMachine.
void DrawMemory(Rng& rng, const OpGraph& graph, Cluster& cluster);

}  // namespace emplace
