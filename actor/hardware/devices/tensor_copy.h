// Copies of tensors, within a device and between devices, for which only memory is moved.
//
// A copy has the strides of its source, also where they leave gaps or repeat elements, and begins at an equally aligned
// address: only so are the bits of what is computed from it certain to be those on the source's device.
#pragma once

#include <ATen/core/Tensor.h>

namespace emplace {

// A copy of a tensor of the CPU in the CPU's memory. pinned: in such that GPUs can copy beside the thread.
at::Tensor CopyOnCpu(const at::Tensor& source, bool pinned = false);

// A copy to or from a GPU, on the current stream of the GPU, or of the one that sends. target: where to; for the CPU,
// pinned memory. REQUIRES: a source on the CPU is pinned.
at::Tensor CopyBesideThread(const at::Tensor& source, const c10::TensorOptions& target);

}  // namespace emplace
