// Indices and versions that cross folder borders.
#pragma once

#include <cstdint>

namespace emplace {

using OpIndex = int32_t;      // Position in OpGraph::ops().
using GroupIndex = int32_t;   // Position in the grouped graph; a topological order.
using DeviceIndex = int32_t;  // Position in Cluster::devices.
using GraphId = uint32_t;     // Position in the run's list of training graphs.

// Counts the updates of a policy; 0 is the initial weights.
using PolicyVersion = uint64_t;

}  // namespace emplace
