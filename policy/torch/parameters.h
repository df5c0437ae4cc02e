// A policy's parameters as named tensors over their flat vector.
#pragma once

#include <torch/types.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "policy/policy_kind.h"

namespace emplace {

// Not thread-safe.
class TorchParameters {
 public:
  explicit TorchParameters(std::vector<ParameterSpec> specs) : specs_(std::move(specs)) {}

  // Copies the values [parameters]. with_gradient: whether operations on the tensors are recorded for Backward.
  void Set(std::span<const float> values, bool with_gradient);
  // REQUIRES: Set was called, and there is a parameter of this name.
  const torch::Tensor& operator[](const std::string& name) const;

  // Adds the derivative of sum(outputs[i] * gradients[i]) by each parameter to `flat` [parameters].
  // REQUIRES: Set was called with a gradient before the outputs were computed.
  void AddGradient(const std::vector<torch::Tensor>& outputs, const std::vector<torch::Tensor>& gradients,
                   std::span<float> flat) const;

 private:
  const std::vector<ParameterSpec> specs_;
  std::vector<torch::Tensor> tensors_;   // [specs]
  std::map<std::string, size_t> index_;  // Name -> index into tensors_.
};

}  // namespace emplace
