// The LibTorch reference on a RandomBatch, and the tolerances of the kernels against it. Including this header slows
// the compiler down.
#pragma once

#include <vector>

#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"
#include "tests/support/placeto_net.h"
#include "tests/support/random_batch.h"

namespace emplace {

// The logits of all states in the batch's order, [S, D]; differentiable.
torch::Tensor TorchForward(PlacetoNet& net, const RandomBatch& batch);
std::vector<float> Flat(const torch::Tensor& tensor);
// The gradient that backward() left in the parameters, in the order of PlacetoLayers.
std::vector<float> TorchGradient(const PlacetoNet& net);

// The learner's loss on all states, and its gradient.
struct TorchLoss {
  double loss = 0;
  double entropy = 0;
  double mean_importance = 0;
  std::vector<float> gradient;
};
TorchLoss LossByTorch(const PolicyWeights& weights, const RandomBatch& batch, const gpu::UpdateScalars& scalars);

// Expects equal logits within a relative 1e-5.
void ExpectLogits(const std::vector<float>& actual, const std::vector<float>& expected);
// Expects equal gradients within 1e-4 of each layer's largest entry. Entries that are sums near 0 have rounding errors
// that do not shrink with the sum.
void ExpectGradient(const PlacetoShape& shape, const std::vector<float>& actual, const std::vector<float>& expected);

}  // namespace emplace
