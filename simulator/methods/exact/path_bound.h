// A lower bound of makespans by what has to run between the ops of a longest path.
#pragma once

#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// n ops. Between the ends of two ops of the path lie all ops that follow the first and precede the second: their work,
// shared out over all devices, and the path between the two. This is the longest way from the begin of a run to its
// end in such steps, in us: so it knows that devices wait where everything goes through one op, such as a loss.
//
// path: a longest path in its order, not empty. cost_us, head_us, tail_us: [n] least cost, longest path before and
// after. shares_us: [n] shares of the makespan whose sum over any ops is at most the time in which devices can run
// these, with the overhead after the last one. Takes time linear in ops.
double PathBoundUs(const SimGraph& graph, std::span<const OpIndex> path, std::span<const double> cost_us,
                   std::span<const double> head_us, std::span<const double> tail_us, std::span<const double> shares_us);

}  // namespace emplace
