// The LibTorch reference on a RandomBatch, and how close to it a kernel has to come. Heavy to include.
#pragma once

#include <vector>

#include "common/policy/policy_net.h"
#include "tests/support/random_batch.h"

namespace emplace {

// Logits [S, D] of all states in the batch's order; differentiable.
torch::Tensor TorchForward(PolicyNet& net, const RandomBatch& batch);
std::vector<float> Flat(const torch::Tensor& tensor);
// What backward() left in the parameters, in the order of PolicyLayers.
std::vector<float> TorchGradient(const PolicyNet& net);

// The learner's loss on all states.
struct TorchLoss {
  double loss = 0;
  double entropy = 0;
  double mean_importance = 0;
  std::vector<float> gradient;
};
TorchLoss LossByTorch(const PolicyWeights& weights, const RandomBatch& batch, const gpu::UpdateScalars& scalars);

// 1e-5 relative.
void ExpectLogits(const std::vector<float>& actual, const std::vector<float>& expected);
// 1e-4, layer by layer, relative to the layer's largest entry: what rounding adds to a sum does not shrink with the
// sum.
void ExpectGradient(const PolicyShape& shape, const std::vector<float>& actual, const std::vector<float>& expected);

}  // namespace emplace
