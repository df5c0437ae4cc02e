// Columns: groups of ops that exchange much, whatever the order in which they run.
//
// The groups of a search level never make a cycle, so that a layer's forward and backward part are in one group only
// with all that runs between them. A move of such a group tears them apart, and has what the forward part keeps for the
// backward part sent. A column may hold both.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "common/threads/stop.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// Nested columns, from fine to coarse, each as the column of every op [num_ops]: for each item of `most`, which falls,
// at most so many where they can be joined. Groups of `unit_of_op` stay together. Columns are joined along the heaviest
// links first, by bytes over the square root of the product of their costs, as multilevel graph partitioning rates
// edges, under a limit of a column's cost that grows. Every column has a device that may run all of its ops.
// Deterministic. Throws Stopped once `stop` says so. REQUIRES: so has every unit.
std::vector<std::vector<GroupIndex>> ColumnsByLevel(const SimGraph& sim, const std::vector<GroupIndex>& unit_of_op,
                                                    const std::vector<int32_t>& most, const StopSignal& stop = {});

}  // namespace emplace
