// A policy's parameters as named tensors on a device, over their flat vector in host memory.
#pragma once

#include <c10/core/Device.h>
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
  explicit TorchParameters(std::vector<ParameterSpec> specs, c10::Device device = c10::DeviceType::CPU)
      : specs_(std::move(specs)), device_(device) {}

  // Copies the values [parameters]. with_gradient: whether operations on the tensors are recorded for Backward.
  void Set(std::span<const float> values, bool with_gradient);
  // REQUIRES: Set was called, and there is a parameter of this name.
  const torch::Tensor& operator[](const std::string& name) const;
  c10::Device device() const { return device_; }

  // Adds the derivative of sum(outputs[i] * gradients[i]) by each parameter to `flat` [parameters].
  // REQUIRES: Set was called with a gradient before the outputs were computed. They are on the device; their gradients
  // may be on the CPU.
  void AddGradient(const std::vector<torch::Tensor>& outputs, const std::vector<torch::Tensor>& gradients,
                   std::span<float> flat) const;

 private:
  const std::vector<ParameterSpec> specs_;
  const c10::Device device_;
  std::vector<torch::Tensor> tensors_;   // [specs]
  std::map<std::string, size_t> index_;  // Name -> index into tensors_.
};

// A fully connected layer, of the parameters name + ".weight" [out, in] and name + ".bias" [out]: [..., in] ->
// [..., out].
torch::Tensor Linear(const TorchParameters& parameters, const std::string& name, const torch::Tensor& x);

}  // namespace emplace
