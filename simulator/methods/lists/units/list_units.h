// The units that the method `list` places: ops that hardly pay on two devices, since to send what one gives the other
// takes longer than to compute them one after the other.
#pragma once

#include <vector>

#include "common/ids.h"
#include "common/threads/stop.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct UnitLimits {
  // Units join where to send takes at least so many times as long as the smaller of the two computations.
  double send_over_compute = 2;
  double most_work = 0.05;    // A unit's share of all work at most, unless it is one op.
  double most_memory = 0.25;  // Its share of the smallest memory at most, likewise.
};

// The unit of each op [num_ops], numbered in topological order (unit_order.h). Edges are joined by falling ratio of
// sending to computing, which is renewed as units grow; only those whose ends no other path connects, since the reader
// has no other producer that reads anything, or the producer no other reader. Sets of ops that have to be together
// stay whole, and no two sets of several ops are joined. REQUIRES: task is from PlacementTask::Make. Throws Stopped.
std::vector<GroupIndex> ListUnits(const PlacementTask& task, const UnitLimits& limits, const StopSignal& stop = {});

}  // namespace emplace
