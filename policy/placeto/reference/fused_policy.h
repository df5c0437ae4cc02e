// The policy as one differentiable function of its flat parameter vector: forward and backward are the project's own
// kernels (gradient/policy_gradient.h), and LibTorch's autograd sees a single node. It gives the same numbers as
// PlacetoNet, many times faster.
#pragma once

#include <torch/types.h>

#include <vector>

#include "policy/placeto/gradient/placeto_gradient.h"
#include "policy/placeto/placeto_graph.h"

namespace emplace {

// Returns logits [S, D], float32 on the CPU, with -infinity for devices that the current group may not use.
// values: [NumParameters] float32 on the CPU, contiguous, in the order of PlacetoLayers.
// REQUIRES: `kernel`, and the graphs and placements of the states, outlive the backward pass, which runs on the
// caller's thread. The kernel may be used for other calls in between.
torch::Tensor FusedLogits(const torch::Tensor& values, PlacetoGradient& kernel, std::vector<PlacetoState> states);

}  // namespace emplace
