// The load of the busiest device, by which Objective::kThroughput compares placements: in a pipeline of many steps, a
// step ends whenever the busiest device has done its part of one. A device's load is the time of its ops, with their
// overheads, and of each tensor that it sends or receives, once (contiguous_split.h has the source).
#pragma once

#include <span>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// In us. placement: [num_ops] a device of the machine for each op; infinity if a device may not run its op.
double MaxLoadUs(const SimGraph& sim, std::span<const DeviceIndex> placement);

}  // namespace emplace
