// Priorities by which devices choose among the ops that are ready (Simulator::SetPriority).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/graph/device_order.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

using Priority = std::vector<OpIndex>;                   // [num_ops] all ops, from the one that goes first on.
using SharedPriority = std::shared_ptr<const Priority>;  // null: ops go first come, first served.

// In the two that follow, free sources (simulator/engine/free_sources.h) go before all other ops. They cost nothing,
// and with them at the front a search simulates less.

// By falling upward rank of the placed graph; equal ranks by index. A topological order by the same ranks is
// TopologicalByPlacedRank (upward_rank.h).
Priority PriorityByRank(const ScheduleGraph& graph, std::span<const DeviceIndex> placement);

// By rising time, such as the time at which each op of a run had to start at the latest. To schedule ops anew by these
// is the second half of a justification, which shortens schedules of all kinds (Valls, Ballestin and Quintanilla,
// "Justification and RCPSP: A technique that pays", EJOR 165, 2005).
Priority ByTime(const SimGraph& graph, std::span<const double> time_us);

// The orders in which devices start their ops under a priority. REQUIRES: placement is legal.
DeviceOrders OrdersUnder(const Priority& priority, const SimGraph& graph, std::span<const DeviceIndex> placement);

}  // namespace emplace
