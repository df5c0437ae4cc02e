// Made-up tensors for what a step is given: its parameters, inputs and constants.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "simulator/graph/op_graph.h"

namespace emplace {

// Throws BadInput, which names the op, for a given op without one output of known shape and type.
void CheckGivenOp(const Op& op);

// A tensor for a given op (IsGiven), on the CPU. It depends on the op alone: by its name and shape, so that every
// placement of a graph computes with the same numbers.
//  - Floating-point parameters of several dimensions are uniform with variance 1 / (inputs of a row), so that
//    activations neither grow nor vanish; those of one dimension are uniform in [0.5, 1.5), as scales and variances
//    have to be positive. Inputs are uniform with variance 1.
//  - Whole numbers are uniform in [0, index_bound). Truth values are true.
//  - Constants have the value in `attrs`.
// Throws BadInput as CheckGivenOp does, and for a constant without its values.
at::Tensor MakeGivenTensor(const Op& op, int64_t index_bound);

}  // namespace emplace
