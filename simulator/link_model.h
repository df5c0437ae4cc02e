// How tensors travel between devices (design, section 4).
#pragma once

#include <cstdint>

namespace emplace {

enum class LinkModel : uint8_t {
  kShared,          // One sending link a device; one transfer of a tensor serves all its remote consumers.
  kPerDestination,  // One sending link a device; one transfer for each device that reads the tensor.
  kTopology,        // One transfer for each device that reads the tensor, over the links of a route.
};

}  // namespace emplace
