// The sequence-to-sequence network of Mirhoseini et al. 2017, with LibTorch: an encoder reads a sequence of items, such
// as groups, once; a decoder with attention gives them devices, one item a step, in B episodes side by side. These are
// episodes of one sequence, or each of its own.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policy/sequence_shape.h"
#include "policy/torch/parameters.h"

namespace emplace {

// What the encoder makes of S sequences; n is the number of items of the longest.
struct EncodedSequence {
  torch::Tensor items;   // [S, n, H]
  torch::Tensor keys;    // [S, n, H] what attention compares with
  torch::Tensor beyond;  // [S, n] bool: where a sequence is over. Undefined with one sequence.
};

// The decoder between two items.
struct DecoderState {
  torch::Tensor hidden;  // [B, H]
  torch::Tensor cell;    // [B, H]
};

class SequenceNetwork {
 public:
  explicit SequenceNetwork(const SequenceShape& shape) : shape_(shape) {}

  // One sequence. items: [n, F]
  EncodedSequence Encode(const TorchParameters& parameters, const torch::Tensor& items) const;
  // Sequences side by side, which are on the CPU. REQUIRES: there is at least one, each has at least one item, none is
  // longer than the one before.
  EncodedSequence Encode(const TorchParameters& parameters, const std::vector<torch::Tensor>& sequences) const;
  // Before the first item.
  DecoderState Start(const EncodedSequence& encoded, int64_t episodes) const;
  // Logits [B, D] of `item`, of devices that it may not use too; goes on to the next item. before: [B] int64, the
  // device of the item before; D for the first item. Of a sequence that is over, the logits mean nothing.
  // REQUIRES: there is one sequence, or one for each episode.
  torch::Tensor Step(const TorchParameters& parameters, const EncodedSequence& encoded, int64_t item,
                     const torch::Tensor& before, DecoderState& state) const;
  // Logits [B, n, D] of all items in episodes that chose these devices. chosen: [B] of each episode, a device for each
  // item of its sequence.
  torch::Tensor Replay(const TorchParameters& parameters, const EncodedSequence& encoded,
                       std::span<const std::span<const uint8_t>> chosen) const;

 private:
  const SequenceShape shape_;
};

}  // namespace emplace
