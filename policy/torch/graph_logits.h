// Logits that a model computes once for all samples on a graph, and their part of the gradient.
#pragma once

#include <torch/types.h>

#include <map>
#include <span>

#include "common/ids.h"
#include "policy/torch/group_tensors.h"
#include "policy/torch/parameters.h"

namespace emplace {

// Not thread-safe.
class GraphLogits {
 public:
  // Before a batch: forgets the batch before.
  void Clear() {
    logits_.clear();
    slopes_.clear();
  }

  // The values of those of the graph, on the CPU; compute() returned them, on any device, when they were first asked
  // for.
  template <typename Compute>
  const torch::Tensor& Of(GraphId graph, Compute&& compute) {
    Logits& logits = logits_[graph];
    if (!logits.computed.defined()) {
      logits.computed = compute();
      logits.values = OnHost(logits.computed);
    }
    return logits.values;
  }

  // Adds the derivative by the graph's logits that one sample has, the first entries of `slopes`; returns the others.
  std::span<const float> AddSlopes(GraphId graph, std::span<const float> slopes);
  // Adds the derivative by each parameter to `gradient` [parameters], for all slopes since Clear. One graph after the
  // other: what one has recorded is freed before the next.
  void AddGradient(const TorchParameters& parameters, std::span<float> gradient);

 private:
  struct Logits {
    torch::Tensor computed;  // With what was recorded for the gradient.
    torch::Tensor values;    // On the CPU.
  };

  std::map<GraphId, Logits> logits_;
  std::map<GraphId, torch::Tensor> slopes_;  // On the CPU; shapes as of the logits.
};

}  // namespace emplace
