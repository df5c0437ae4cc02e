// The sequence-to-sequence network, with LibTorch. The encoder reads a graph once; the decoder makes a step for each
// group, of B episodes on the graph side by side.
#pragma once

#include <torch/types.h>

#include "policy/rnn/rnn_kind.h"
#include "policy/torch/group_tensors.h"
#include "policy/torch/parameters.h"

namespace emplace {

// What the encoder makes of a graph.
struct RnnEncoded {
  torch::Tensor groups;  // [n, H]
  torch::Tensor keys;    // [n, H] what attention compares with
};

// The decoder between two groups.
struct RnnState {
  torch::Tensor hidden;  // [B, H]
  torch::Tensor cell;    // [B, H]
};

class RnnNetwork {
 public:
  explicit RnnNetwork(const RnnShape& shape) : shape_(shape) {}

  RnnEncoded Encode(const TorchParameters& parameters, const GroupTensors& graph) const;
  // Before the first group.
  RnnState Start(int64_t episodes) const;
  // Logits [B, D] of `group`, of devices that it may not use too; goes on to the next group. before: [B] int64, the
  // device of the group before; D for the first group.
  torch::Tensor Step(const TorchParameters& parameters, const RnnEncoded& encoded, int64_t group,
                     const torch::Tensor& before, RnnState& state) const;

 private:
  const RnnShape shape_;
};

}  // namespace emplace
