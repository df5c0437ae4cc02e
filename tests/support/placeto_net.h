// The Placeto policy in plain LibTorch: the reference that the kernels are tested and measured against, by tests and by
// the benchmarks in tools/bench. LibTorch's headers are large.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"

namespace emplace {

// S states of one graph with n nodes; float32 on one torch device.
struct PlacetoBatch {
  torch::Tensor features;     // [n, S, F]
  torch::Tensor parents;      // [n, n] 1 where column j is a parent of row i
  torch::Tensor children;     // [n, n] its transpose
  torch::Tensor ancestors;    // [n, S] 1 where node i is an ancestor of state s's current node
  torch::Tensor descendants;  // [n, S] 1 where it is a descendant
  torch::Tensor neither;      // [n, S] 1 where it is neither, nor the current node
  torch::Tensor current;      // [S] int64, the current node
  torch::Tensor disallowed;   // [S, D] bool, true for devices that the current group may not use
};
// REQUIRES: every state is of `graph`.
PlacetoBatch MakePlacetoBatch(const PlacetoGraph& graph, std::span<const PlacetoState> states,
                              const PlacetoShape& shape, torch::Device device);

// Copies of a PlacetoNet share their parameters.
class PlacetoNet {
 public:
  explicit PlacetoNet(const PolicyWeights& weights, torch::Device device = torch::kCPU);

  const PlacetoShape& shape() const { return shape_; }
  // Returns logits [S, D], with -infinity where disallowed.
  torch::Tensor Forward(const PlacetoBatch& batch) const;
  // Weight and bias of each layer, in the order of PlacetoLayers.
  std::vector<torch::Tensor> Parameters() const;
  // Sets the gradient that backward() has added to the parameters to zero.
  void ZeroGradient();
  // Copy the parameters in and out, in the order of PlacetoLayers.
  void SetValues(std::span<const float> values);
  std::vector<float> Values() const;

 private:
  torch::Tensor Layer(int32_t layer, const torch::Tensor& x) const;  // W x + b for PlacetoLayers()[layer]

  PlacetoShape shape_;
  std::vector<torch::Tensor> weights_;  // One for each layer; likewise biases_.
  std::vector<torch::Tensor> biases_;
};

}  // namespace emplace
