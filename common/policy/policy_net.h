// The Placeto policy as a plain LibTorch module (design, section 5): the reference that the kernels are proven equal
// to, and what the learner differentiates. Heavy to include; only files of the learner and its tests do.
#pragma once

#include <torch/torch.h>

#include <span>

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

class PolicyNetImpl : public torch::nn::Module {
 public:
  explicit PolicyNetImpl(const PolicyWeights& weights);

  const PolicyShape& shape() const { return shape_; }
  // logits [S, D]; -infinity where disallowed.
  torch::Tensor Forward(const PolicyBatch& batch);
  // Copies the parameters in and out, in the order of PolicyLayers.
  void SetValues(std::span<const float> values);
  std::vector<float> Values() const;

 private:
  torch::Tensor Layer(size_t layer, const torch::Tensor& x) const;  // W x + b of PolicyLayers()[layer]

  PolicyShape shape_;
  std::vector<torch::Tensor> weights_;  // One of each a layer; registered under the layer's name.
  std::vector<torch::Tensor> biases_;
};
TORCH_MODULE(PolicyNet);

}  // namespace emplace
