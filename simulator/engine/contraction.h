// A graph with fewer ops, whose simulation costs less and tells about as much.
#pragma once

#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// n ops of the whole graph.
struct Contraction {
  SimGraph graph;
  std::vector<OpIndex> op_of;  // [n] the op of `graph` that an op is part of
};

// Makes one op of each group, on the same machine. It takes as long as its ops do one after the other, needs what they
// need from other groups to begin, and has what it sends to the same groups as one tensor, which leaves when it ends.
// That takes as long as the tensors one after the other, with the pauses between them but where there is a topology.
// What the ops hold for each other only counts one at a time. Free sources (free_sources.h) stay ops of their own, for
// their tensors may leave at time 0. A group that has to wait for what other groups make of its tensors, as a parameter
// with its update does, becomes several ops, one for each time that it has to wait, so that there is no cycle.
// group_of_op: [n]. REQUIRES: n > 0.
Contraction Contract(const SimGraph& whole, std::span<const GroupIndex> group_of_op);

}  // namespace emplace
