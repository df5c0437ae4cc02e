// The load of the busiest device, by which Objective::kThroughput compares placements: in a pipeline of many steps, a
// step ends whenever the busiest device has done its part of one. A device's load is the time of its ops, with their
// overheads, and of each tensor that it sends or receives, once (contiguous_split.h has the source).
#pragma once

#include <span>

#include "simulator/environment/placement_task.h"

namespace emplace {

// In us. REQUIRES: task is from PlacementTask::Make; placement [num_ops] is legal.
double MaxLoadUs(const PlacementTask& task, std::span<const DeviceIndex> placement);

}  // namespace emplace
