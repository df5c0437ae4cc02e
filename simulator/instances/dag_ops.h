// Makes the ops of a network of a random shape: weights, and for training the mirrored backward pass and updates, in
// one or several micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/instances/dag_shapes.h"

namespace emplace {

// Exactly so many ops, in a topological order, with costs in us that are the same on all devices. Only the ratios of
// costs, and those of bytes, mean something. Names, groups, stages and copies are as in the graphs of
// simulator/families. REQUIRES: ops >= 16.
std::vector<Op> DrawDagOps(Rng& rng, const DagGenerator& generator, int32_t ops);

}  // namespace emplace
