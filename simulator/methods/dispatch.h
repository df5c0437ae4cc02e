// The orders that come of a rule by which free devices choose among the ops that are ready.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulator/graph/device_order.h"
#include "simulator/methods/list_schedule.h"

namespace emplace {

// n ops, D devices.
struct DispatchRule {
  std::vector<int32_t> wave;    // [n] ops of lower waves go first
  std::vector<double> rank_us;  // [n] of one wave, ops of higher rank go first, then those of lower index
  // [D] the most micro-batches that a device has begun and not ended, counting only its own ops. Empty: no limit. With
  // a limit, a device begins micro-batches in their order, and waves must not fall from one micro-batch to the next.
  std::vector<int32_t> most_begun;
};

struct Dispatched {
  DeviceOrders orders;     // They can be followed (CheckOrders).
  double makespan_us = 0;  // An estimate; infinity if the dispatch was given up.
};

// Goes through a step of the placed graph as the simulator does, but whenever a device gets free, it starts the first
// ready op by the rule. If no device may start anything, for the limits are too low for the graph, the first ready op
// starts nevertheless. Times are estimates as those of list_schedule.h: of all links only the sender's own is ever
// busy. Given up at the end of a moment in which an op starts whose rank lasts longer than until limit_us: ranks
// have to be upward ranks then. REQUIRES: placement [n] is legal.
Dispatched Dispatch(const ScheduleGraph& graph, std::span<const DeviceIndex> placement, const DispatchRule& rule,
                    double limit_us = std::numeric_limits<double>::infinity());

}  // namespace emplace
