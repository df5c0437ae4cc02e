// How tensors travel between devices, and how memory is counted; docs/design-simulator.md has the rules.
#pragma once

#include <cstdint>

namespace emplace {

enum class LinkModel : uint8_t {
  kShared,          // Each device has one sending link. One transfer of a tensor serves all its remote consumers.
  kPerDestination,  // Each device has one sending link. There is one transfer for each device that reads the tensor.
  kTopology,        // There is one transfer for each device that reads the tensor, over the links of a route.
};

// How the memory that a device needs is counted; docs/design-simulator.md has the rules.
enum class MemoryRule : uint8_t {
  kExecutor,  // What a real device holds: tensors until their last reader ends, and copies that it has received.
  kPlaceto,   // What Placeto's published simulator counts.
};

}  // namespace emplace
