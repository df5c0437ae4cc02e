// The kind `rnn`: the keys, sizes and parameters of the sequence-to-sequence policy of Mirhoseini et al., "Device
// Placement Optimization with Reinforcement Learning" (ICML 2017). No LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/policy_kind.h"
#include "policy/policy_shape.h"

namespace emplace {

struct RnnShape {
  int32_t num_devices = 2;  // D
  int32_t hidden = 64;      // H: width of the LSTMs. The encoder has H / 2 in each direction.
  // The largest logit in tenths, C * 10: logits are C * tanh(x / temperature).
  int32_t tanh_tenths = 50;
  int32_t temperature_tenths = 10;

  static RnnShape Of(const PolicyShape& shape);  // REQUIRES: it has the sizes of the kind.
};

// The parameters in the order of the flat vector; a weight is [out, in]. The gates of an LSTM are in the order input,
// forget, cell, output, each of the LSTM's width.
std::vector<ParameterSpec> RnnParameters(const RnnShape& shape);

const PolicyKind& RnnKind();

}  // namespace emplace
