// The network of SGDP, with LibTorch: logits of all groups of a graph at once.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <vector>

#include "policy/policy_shape.h"
#include "policy/torch/one_shot.h"

namespace emplace {

// REQUIRES: shape.kind is sgdp.
std::unique_ptr<OneShotNetwork> MakeSgdpNetwork(const PolicyShape& shape);
// Acting and learning with it. REQUIRES: likewise; tasks outlive the model.
std::unique_ptr<Player> MakeSgdpPlayer(const PolicyShape& shape);
std::unique_ptr<Model> MakeSgdpModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                     c10::Device device);

}  // namespace emplace
