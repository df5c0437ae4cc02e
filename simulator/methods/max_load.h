// The load of the busiest device, by which Objective::kThroughput compares placements: in a pipeline of many steps, a
// step ends whenever the busiest device has done its part of one. A device's load is the time of its ops, with their
// overheads, and for which each tensor that it sends or receives keeps its links busy (contiguous_split.h has the
// source). It receives a tensor once. It sends one once, too, where one transfer serves all devices; else to each.
#pragma once

#include <cstdint>
#include <span>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// For how long a transfer of a tensor keeps links busy, us. REQUIRES: the devices differ.
double TransferLoadUs(const SimGraph& sim, int32_t tensor, DeviceIndex from, DeviceIndex to);
// Whether each device that reads a tensor gets a transfer of its own.
inline bool SendsToEach(const SimGraph& sim) { return sim.link_model != LinkModel::kShared; }

// In us. placement: [num_ops] a device of the machine for each op; infinity if a device may not run its op.
double MaxLoadUs(const SimGraph& sim, std::span<const DeviceIndex> placement);

}  // namespace emplace
