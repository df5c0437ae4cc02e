// The order of the discipline `least-memory`: devices that hold little at a time, at the cost of running less at once.
#pragma once

#include <span>

#include "common/ids.h"
#include "simulator/graph/device_order.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

// Goes through the placed graph op by op, on whatever devices these are, and takes of the ops that are ready the one
// that frees the most bytes, or, where none frees any, the one that got ready last: what it reads is freed soonest if
// ops follow each other in depth. Each device runs its ops in this order. Greedy, as the least peak is NP-hard to find
// (Sethi, "Complete register allocation problems", SIAM J. Comput. 4, 1975). In n log n steps for n ops and their
// edges. REQUIRES: placement [n] is legal.
DeviceOrders OrdersOfLeastMemory(const ScheduleGraph& graph, std::span<const DeviceIndex> placement);

}  // namespace emplace
