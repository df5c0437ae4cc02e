// The network of SGDP, with LibTorch: logits of all groups of a graph at once.
#pragma once

#include <memory>

#include "policy/policy_shape.h"
#include "policy/torch/one_shot.h"

namespace emplace {

// REQUIRES: shape.kind is sgdp.
std::unique_ptr<OneShotNetwork> MakeSgdpNetwork(const PolicyShape& shape);

}  // namespace emplace
