#include "policy/torch/layers.h"

#include <torch/torch.h>

namespace emplace {

torch::Tensor Linear(const TorchParameters& parameters, const std::string& name, const torch::Tensor& x) {
  return torch::linear(x, parameters[name + ".weight"], parameters[name + ".bias"]);
}

}  // namespace emplace
