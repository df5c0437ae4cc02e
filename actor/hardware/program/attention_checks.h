// The shapes and strides with which flash attention may be called on CPUs: its kernels look at few of them, and read,
// or backwards write, beyond tensors that do not go together.
#pragma once

#include <ATen/core/stack.h>

namespace emplace {

// As of argument_checks.h.
void CheckFlashAttention(const torch::jit::Stack& arguments);
void CheckFlashAttentionBackward(const torch::jit::Stack& arguments);

}  // namespace emplace
