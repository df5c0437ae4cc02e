// The shapes with which flash attention may be called on CPUs: its kernels look at few of them, and read, or backwards
// write, beyond tensors that do not go together.
#pragma once

#include <ATen/core/stack.h>

#include <string>

namespace emplace {

// Whether the operator, such as "aten.addmm.default", is one of these.
bool IsCpuFlashAttention(const std::string& op);

// arguments: all of the operator's, in the order of its schema. Throws c10::Error for shapes that do not go together.
// REQUIRES: IsCpuFlashAttention(op).
void CheckFlashAttention(const std::string& op, const torch::jit::Stack& arguments);

}  // namespace emplace
