// Spreads items, such as parameters, over devices, so that all get about as many bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/ids.h"

namespace emplace {

// Gives each of the items, the largest first, to the one of its candidates that has got the fewest bytes so far, of
// equal ones the first. bytes_of: [m] of every item that there is. Returns [m] the devices; -1 for what is not among
// `items`, or has no candidate.
std::vector<DeviceIndex> SpreadByBytes(std::vector<int32_t> items, std::span<const int64_t> bytes_of,
                                       int32_t num_devices,
                                       const std::function<std::vector<DeviceIndex>(int32_t item)>& candidates);

}  // namespace emplace
