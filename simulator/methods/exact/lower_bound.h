// A lower bound of the makespans of all placements that fit the memory: how far a placement can be from the best one.
#pragma once

#include "common/threads/stop.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// The largest of these bounds, in us:
// - the longest path, with every op where it is fastest and no transfers;
// - work over devices, for all ops, and for those that cannot start before some time and have to be followed by some
//   path: that time, plus their work shared out evenly, plus the path. With devices of several kinds, work is shared
//   out as the linear relaxation of the assignment does (Lenstra, Shmoys and Tardos, "Approximation algorithms for
//   scheduling unrelated parallel machines", 1990, section 2), by weights of the devices that maximize its dual. The
//   relaxation also holds that resident parameters fit each device, so it knows of work that memory forces onto slow
//   devices;
// - the ops of a longest path, one after the other, with the work that has to be done between any two (path_bound.h);
// - the ops of a longest path, one after the other, each where the relaxation with its memory puts it: so it knows how
//   long a chain takes whose parameters do not fit the fast devices;
// - where no single device may hold all ops, or run them, and the graph is in one piece: the shortest path through some
//   tensor's transfer.
// The result is a little less than these, so that rounding does not matter. Takes time near-linear in ops.
double LowerBoundUs(const SimGraph& graph, const StopSignal& stop = {});

// A lower bound of the loads of the busiest device (max_load.h) of all placements that fit the memory: the second of
// the bounds above, for all ops.
double LoadBoundUs(const SimGraph& graph, const StopSignal& stop = {});

}  // namespace emplace
