// The calls by which the ops of a family can be run (`call` in docs/placing.md).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/families/program/op_table.h"

namespace emplace {

// The call of an op as compact JSON text; empty for parameters and inputs, which are given.
//  - Pieces, other shapes and transposed operands are views of the argument.
//  - A loss is the sum over its examples, not their mean: the gradient of a mean would need the number of examples as
//    a tensor.
//  - An update adds the gradient times -0.01, whatever the optimizer. That is also the first step of momentum. The
//    slots of momentum and Adam are memory that no call touches.
// REQUIRES: the program is runnable. Throws BadInput, which names the op, for a type that has no call.
std::string AtenCallOf(const OpCall& call);

// The number of outputs of such a call that come before the op's own, and that the call leaves out: 1 for the gradient
// of a convolution's weight, which ATen returns after that of the input.
int32_t OutputsLeftOutByCall(const std::string& type);

}  // namespace emplace
