// Reverse-mode differentiation of a tensor program, op by op, with the rules of the op table.
#pragma once

#include <utility>
#include <vector>

#include "simulator/families/program/tensor_program.h"

namespace emplace {

// Adds the backward pass of `loss`, a scalar. If a tensor has several readers, their gradients are added up in
// reverse order of the readers. A cat or stack joins the gradients of a tensor's pieces, so the pieces that are
// read must cover the tensor. Returns (parameter, its gradient) in the order of the parameters, without those that
// do not reach the loss.
std::vector<std::pair<TensorId, TensorId>> AddBackward(TensorProgram& program, TensorId loss);

enum class Optimizer {
  kSgd,
  kMomentum,  // SGD with one slot for each parameter, its velocity.
  kAdam,      // Two slots for each parameter, the means of its gradient and of the gradient's square.
};

// Adds an update in place for each pair; it runs after all ops that read the parameter. REQUIRES: no op that reads a
// parameter is added later.
void AddUpdates(TensorProgram& program, const std::vector<std::pair<TensorId, TensorId>>& gradients,
                Optimizer optimizer = Optimizer::kSgd);

}  // namespace emplace
