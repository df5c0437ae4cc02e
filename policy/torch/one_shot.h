// A player and a model for kinds whose network gives the logits of all groups of a graph at once, whatever is chosen.
// So the logits of a graph are computed once for all episodes on it: by the player for as long as it has the same
// weights, by the model once a batch.
#pragma once

#include <c10/core/Device.h>
#include <torch/types.h>

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/player.h"
#include "policy/torch/group_tensors.h"
#include "policy/torch/parameters.h"

namespace emplace {

// Must compute each graph alone, so that equal input gives equal bits.
class OneShotNetwork {
 public:
  virtual ~OneShotNetwork() = default;
  // Those of the kind, in their order.
  virtual std::vector<ParameterSpec> Parameters() const = 0;
  // Logits [n, devices], of choices that are not allowed too, on the device where parameters and graph are.
  virtual torch::Tensor Logits(const TorchParameters& parameters, const GroupTensors& graph) const = 0;
};

// On the CPU.
std::unique_ptr<Player> MakeOneShotPlayer(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network);
// REQUIRES: tasks outlive the model.
std::unique_ptr<Model> MakeOneShotModel(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network,
                                        const std::vector<PlacementTask>& tasks, c10::Device device);

}  // namespace emplace
