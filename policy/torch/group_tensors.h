// What goes into and comes out of networks on LibTorch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policy/torch/group_features.h"

namespace emplace {

// GroupFeatures as tensors.
struct GroupTensors {
  explicit GroupTensors(const GroupFeatures& features);

  torch::Tensor nodes;  // [n, kNumGroupFeatures] float
  torch::Tensor from;   // [edges] int64
  torch::Tensor to;     // [edges] int64
};

// Appends logits as players and models give them: row-major, -infinity where a choice is not allowed. allowed: as many
// as there are logits, 1 where allowed.
void AppendLogits(const torch::Tensor& logits, std::span<const uint8_t> allowed, std::vector<float>& values);

}  // namespace emplace
