// What kernels of LibTorch take for granted. Some read or write beyond their tensors where shapes, indices or numbers
// do not go together, and do not look; a graph may be somebody else's.
#pragma once

#include <ATen/core/stack.h>

#include <string>

namespace emplace {

// Takes all arguments of an operator, in the order of its schema. Throws c10::Error for those that do not go together.
using ArgumentCheck = void (*)(const torch::jit::Stack& arguments);

// The check of the operator, such as "aten.addmm.default"; nullptr: its kernels look themselves.
ArgumentCheck ArgumentCheckOf(const std::string& op);

}  // namespace emplace
