// The calls by which the ops of a family can be run (`call` in docs/placing.md).
#pragma once

#include <string>

#include "simulator/families/op_table.h"

namespace emplace {

// The call of an op as compact JSON text; empty for parameters and inputs, which are given.
//  - Pieces, other shapes and transposed operands are views of the argument.
//  - A loss is the sum over its examples, not their mean: the gradient of a mean would need the number of examples as
//    a tensor. An update adds the gradient times -0.01.
// Throws BadInput, which names the op, for a type that has no call: those of convolutional networks.
std::string AtenCallOf(const OpCall& call);

}  // namespace emplace
