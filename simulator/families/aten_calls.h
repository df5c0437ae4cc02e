// The calls by which the ops of a family can be run (`call` in docs/placing.md).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/families/op_table.h"

namespace emplace {

// The call of an op as compact JSON text; empty for parameters and inputs, which are given.
//  - Pieces, other shapes and transposed operands are views of the argument.
//  - A loss is the sum over its examples, not their mean: the gradient of a mean would need the number of examples as
//    a tensor.
//  - An update adds the gradient times -0.01. That is also the first step of momentum, whose slots begin with 0 and are
//    memory that a call does not touch.
// REQUIRES: the program is runnable. Throws BadInput, which names the op, for a type that has no call.
std::string AtenCallOf(const OpCall& call);

// The number of outputs of such a call that come before the op's own, and that the call leaves out: 1 for the gradient
// of a convolution's weight, which ATen returns after that of the input.
int32_t OutputsLeftOutByCall(const std::string& type);

}  // namespace emplace
