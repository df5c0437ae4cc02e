// The operators that a graph may call: those of ATen that compute tensors from tensors and numbers. None of them reads
// or writes a file, loads a library, or runs code that a graph brings. Graphs may come from other people, so everything
// that is not on this list is refused before it is looked up.
#pragma once

#include <span>
#include <string_view>

namespace emplace {

// name: "aten.addmm.default", as PyTorch writes an overload.
bool IsAllowedOp(std::string_view name);
// Whether the operator returns a view of its first argument, so that an argument of a call may be seen through it.
bool IsAllowedView(std::string_view name);
// All operators that may be called, ascending.
std::span<const std::string_view> AllowedOps();

}  // namespace emplace
