// Numbers of things, and versions, that several folders use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace emplace {

using OpIndex = int32_t;      // Index into OpGraph::ops().
using GroupIndex = int32_t;   // Index of a group in the grouped graph; ascending indices are a topological order.
using DeviceIndex = int32_t;  // Index into Cluster::devices.
inline constexpr int kMaxDevices = 255;  // In a cluster at most: messages carry a device as one byte.
using GraphId = uint32_t;                // Index into the run's list of training graphs.

// Number of updates that have made a policy; version 0 has the initial weights.
using PolicyVersion = uint64_t;

// How many things there are, where these are their numbers, from 0 on: the greatest plus 1. REQUIRES: there are some.
inline int32_t CountOf(std::span<const int32_t> numbers) { return 1 + *std::ranges::max_element(numbers); }

}  // namespace emplace
