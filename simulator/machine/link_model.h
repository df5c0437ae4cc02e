// How tensors travel between devices; docs/design-simulator.md has the rules.
#pragma once

#include <cstdint>

namespace emplace {

enum class LinkModel : uint8_t {
  kShared,          // Each device has one sending link. One transfer of a tensor serves all its remote consumers.
  kPerDestination,  // Each device has one sending link. There is one transfer for each device that reads the tensor.
  kTopology,        // There is one transfer for each device that reads the tensor, over the links of a route.
};

}  // namespace emplace
