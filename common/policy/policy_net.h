// The Placeto policy in plain LibTorch (design, section 6): the reference that the kernels are proven equal to and
// measured against. Heavy to include; only tests and benchmarks do.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_weights.h"

namespace emplace {

// S states of one graph with n nodes; float32 on one torch device.
struct PolicyBatch {
  torch::Tensor features;     // [n, S, F]
  torch::Tensor parents;      // [n, n] 1 where column j is a parent of row i
  torch::Tensor children;     // [n, n] its transpose
  torch::Tensor ancestors;    // [n, S] 1 where node i is an ancestor of state s's current node; likewise:
  torch::Tensor descendants;  // [n, S]
  torch::Tensor neither;      // [n, S]
  torch::Tensor current;      // [S] int64
  torch::Tensor disallowed;   // [S, D] bool, true where the current group may not go
};
// REQUIRES: every state is of `graph`.
PolicyBatch MakePolicyBatch(const PolicyGraph& graph, std::span<const PolicyState> states, const PolicyShape& shape,
                            torch::Device device);

// Copies share their parameters.
class PolicyNet {
 public:
  explicit PolicyNet(const PolicyWeights& weights, torch::Device device = torch::kCPU);

  const PolicyShape& shape() const { return shape_; }
  // logits [S, D]; -infinity where disallowed.
  torch::Tensor Forward(const PolicyBatch& batch) const;
  // Weight and bias of each layer, in the order of PolicyLayers.
  std::vector<torch::Tensor> Parameters() const;
  // Drops what backward() has left in the parameters.
  void ZeroGradient();
  // Copies the parameters in and out, in the order of PolicyLayers.
  void SetValues(std::span<const float> values);
  std::vector<float> Values() const;

 private:
  torch::Tensor Layer(size_t layer, const torch::Tensor& x) const;  // W x + b of PolicyLayers()[layer]

  PolicyShape shape_;
  std::vector<torch::Tensor> weights_;  // One of each a layer.
  std::vector<torch::Tensor> biases_;
};

}  // namespace emplace
