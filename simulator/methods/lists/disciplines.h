// Disciplines: ways to choose the order in which the devices of a placement run their ops.
//
// `arrival`: in the order in which ops get ready, as without an order.
// `rank`: of the ops that are ready, the one with the longest way to the end of the graph (upward_rank.h).
// `depth-first`: of the ops that are ready, one of the earliest micro-batch, and of these by rank. So backward passes
//   go before later forward passes.
// `1f1b`: one forward, one backward (Narayanan et al., "PipeDream", SOSP 2019, section 3.2): the same, but a device has
//   at most as many micro-batches begun and not ended as there are devices that a micro-batch reaches no earlier. It
//   holds the activations of that many micro-batches, and not of all.
// `least-memory`: what frees memory first, one op at a time over all devices (least_memory.h). For placements that fit
//   in no other order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulator/graph/device_order.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/placement_method.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct ChosenOrder {
  std::string discipline;
  DeviceOrders orders;  // Of all devices; they can be followed.
  SearchScore score;    // Of the simulated run.
};

std::vector<std::string> DisciplineNames();
// REQUIRES (all): the graph's task is from PlacementTask::Make; placement [num_ops] is legal. Several threads may share
// the graph. Throws BadInput for an unknown name.
ChosenOrder OrderBy(const std::string& discipline, const ScheduleGraph& graph, std::span<const DeviceIndex> placement);
// The best of all disciplines: the shortest makespan of those that fit the memory. `least-memory` is tried where none
// of the others fits. Once the graph's stop says so, the best of those tried so far, which are one at least. best: one
// that is there already; without orders: none is.
ChosenOrder BestOrder(const ScheduleGraph& graph, std::span<const DeviceIndex> placement, ChosenOrder best = {});

// The names above and `best`, for users.
std::vector<std::string> OrderNames();
// The order of this name, and the number of simulator runs that it takes to find it; `best` takes one more where it
// tries `least-memory`.
ChosenOrder OrderNamed(const std::string& name, const ScheduleGraph& graph, std::span<const DeviceIndex> placement);
int64_t RunsToFindOrder(const std::string& name);
// About the time that this takes for a placement of the task, by a measured run; 0 where no single device may run
// everything.
double SecondsToOrder(const std::string& name, const PlacementTask& task);
// Gives a method's result the order of this name, if it has a placement. The best order is one that it has already, if
// that is better than all disciplines, or than those that were tried until `stop`.
void SetOrder(const std::string& name, const PlacementTask& task, MethodResult& result, const StopSignal& stop = {});

}  // namespace emplace
