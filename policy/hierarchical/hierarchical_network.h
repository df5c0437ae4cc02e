// The networks of the hierarchical placer, with LibTorch.
#pragma once

#include <torch/types.h>

#include "policy/hierarchical/bins.h"
#include "policy/policy_shape.h"
#include "policy/torch/group_tensors.h"
#include "policy/torch/parameters.h"

namespace emplace {

// The grouper: logits [n, NumBins] of each group's bin.
torch::Tensor BinLogits(const TorchParameters& parameters, const GroupTensors& graph);

// What the placer reads of the bins: [k, NumBinFeatures], on the CPU. REQUIRES: so is the graph.
torch::Tensor BinFeatures(const GroupTensors& graph, const UsedBins& used);

}  // namespace emplace
