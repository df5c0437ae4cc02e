// Reverse-mode differentiation of a tensor program, op by op, with the rules of the op table.
#pragma once

#include <utility>
#include <vector>

#include "simulator/families/tensor_program.h"

namespace emplace {

// Adds the backward pass of `loss`, a scalar. Where a tensor has several readers their gradients are added up as they
// come, in reverse order of the readers; the gradients of all pieces of a tensor are put together again by a cat or
// stack, so the pieces that are read must cover it.
// Returns (parameter, its gradient) in order of the parameters; one that does not reach the loss is left out.
std::vector<std::pair<TensorId, TensorId>> AddBackward(TensorProgram& program, TensorId loss);

enum class Optimizer {
  kSgd,
  kMomentum,  // SGD that keeps one slot a parameter, its velocity.
};

// Adds an update in place for each pair, after everything that reads the parameter. REQUIRES: nothing that reads a
// parameter is added later.
void AddUpdates(TensorProgram& program, const std::vector<std::pair<TensorId, TensorId>>& gradients,
                Optimizer optimizer = Optimizer::kSgd);

}  // namespace emplace
