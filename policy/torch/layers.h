// Layers that networks on LibTorch share.
#pragma once

#include <torch/types.h>

#include <string>

#include "policy/torch/parameters.h"

namespace emplace {

// A fully connected layer, of the parameters name + ".weight" [out, in] and name + ".bias" [out]: [..., in] ->
// [..., out].
torch::Tensor Linear(const TorchParameters& parameters, const std::string& name, const torch::Tensor& x);

}  // namespace emplace
