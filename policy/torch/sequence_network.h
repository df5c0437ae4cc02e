// The sequence-to-sequence network of Mirhoseini et al. 2017, with LibTorch: an encoder reads a sequence of items, such
// as groups, once; a decoder with attention gives them devices, one item a step, in B episodes side by side.
#pragma once

#include <torch/types.h>

#include "policy/torch/parameters.h"
#include "policy/torch/sequence_shape.h"

namespace emplace {

// What the encoder makes of a sequence.
struct EncodedSequence {
  torch::Tensor items;  // [n, H]
  torch::Tensor keys;   // [n, H] what attention compares with
};

// The decoder between two items.
struct DecoderState {
  torch::Tensor hidden;  // [B, H]
  torch::Tensor cell;    // [B, H]
};

class SequenceNetwork {
 public:
  explicit SequenceNetwork(const SequenceShape& shape) : shape_(shape) {}

  // items: [n, F]
  EncodedSequence Encode(const TorchParameters& parameters, const torch::Tensor& items) const;
  // Before the first item.
  DecoderState Start(int64_t episodes) const;
  // Logits [B, D] of `item`, of devices that it may not use too; goes on to the next item. before: [B] int64, the
  // device of the item before; D for the first item.
  torch::Tensor Step(const TorchParameters& parameters, const EncodedSequence& encoded, int64_t item,
                     const torch::Tensor& before, DecoderState& state) const;

 private:
  const SequenceShape shape_;
};

}  // namespace emplace
