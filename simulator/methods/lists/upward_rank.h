// Upward ranks: the length in us of the longest way from an op, with its own cost, to the end of the graph (Topcuoglu
// et al., IEEE TPDS 2002, section 4.1). An op's rank is at least that of each of its readers.
#pragma once

#include <span>
#include <vector>

#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

// [n] by mean costs and mean transfer times over devices, as in the paper; transfers count so many times.
std::vector<double> MeanUpwardRanksUs(const ScheduleGraph& graph, double transfer_weight = 1);
// Ops in decreasing order of these, which is topological; equal ranks in topological order.
std::vector<OpIndex> ByMeanUpwardRank(const ScheduleGraph& graph, double transfer_weight = 1);
// [n] by the costs of a placement, and its transfers between devices.
std::vector<double> PlacedUpwardRanksUs(const ScheduleGraph& graph, std::span<const DeviceIndex> placement);
// Ops in decreasing order of these, as above. For the priority of a run, take PriorityByRank (priority.h), which puts
// free sources first.
std::vector<OpIndex> TopologicalByPlacedRank(const ScheduleGraph& graph, std::span<const DeviceIndex> placement);

}  // namespace emplace
