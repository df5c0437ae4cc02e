// Kernels in this folder are templates over a `Block`, so that one source is compiled for the GPU (CudaBlock in
// launches.cu) and for the host (tests/support/host_block.h, which runs the items of a phase in random order). The
// members of a Block are:
//
//   int32_t rank() const, ranks() const       the index of this block in the launch, and the number of blocks
//   int32_t threads() const                   threads of the block; a hint for how finely to split work
//   float* shared() const                     the block's shared memory, 16-byte aligned, not initialized
//   void ForEach(int32_t count, item)         calls item(0) to item(count - 1) once each, in any order or in parallel,
//                                             then has a barrier: later phases of this block see all that was written
//   void ForEachInGrid(int32_t count, item)   does so divided among all blocks, and without a barrier
//
// The items between two barriers must not depend on each other.
#pragma once

#include <cstdint>

#include "policy/placeto/host_device.h"

namespace emplace::gpu {

EMPLACE_HOST_DEVICE int32_t Min(int32_t a, int32_t b) { return a < b ? a : b; }
EMPLACE_HOST_DEVICE int32_t Max(int32_t a, int32_t b) { return a > b ? a : b; }
EMPLACE_HOST_DEVICE int32_t DivideUp(int32_t a, int32_t b) { return (a + b - 1) / b; }
// Rows are padded with zeros to a multiple of four floats; four floats are loaded and stored at once.
EMPLACE_HOST_DEVICE constexpr int32_t PadToFour(int32_t width) { return (width + 3) / 4 * 4; }

}  // namespace emplace::gpu
