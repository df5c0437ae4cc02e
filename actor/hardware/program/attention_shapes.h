// The shapes and strides with which flash attention may be called on CPUs: its kernels look at few of them, and read,
// or backwards write, beyond tensors that do not go together.
#pragma once

#include <ATen/core/stack.h>

#include <string>

namespace emplace {

// Takes all arguments of an operator, in the order of its schema. Throws c10::Error for tensors that do not go
// together.
using ShapeCheck = void (*)(const torch::jit::Stack& arguments);

// The check of the operator, such as "aten.addmm.default"; nullptr: it is none of these.
ShapeCheck ShapeCheckOf(const std::string& op);

}  // namespace emplace
