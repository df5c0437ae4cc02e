// A device that stands in for a GPU: it computes what the CPU computes, in memory that the CPU cannot reach. An op that
// is given tensors of both throws, as on a GPU, and code that reads a tensor of the device without copying it first
// ends the process.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace emplace {

c10::Device OtherDevice();

// How many tensors have been copied from the CPU to the device, and back, so far.
int64_t CopiesToOtherDevice();
int64_t CopiesFromOtherDevice();

}  // namespace emplace
