// What a sequence-to-sequence network (sequence_network.h) is made of, for the kinds that have one: its keys in section
// `policy`, its sizes and its parameters. No LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "common/config/field_table.h"
#include "policy/policy_kind.h"

namespace emplace {

// The keys of section `policy`.
struct SequenceKeys {
  int32_t hidden = 64;  // H: width of the LSTMs. The encoder has H / 2 in each direction.
  double tanh_constant = 5;
  double temperature = 1;
};

struct SequenceShape : SequenceKeys {
  int32_t num_devices = 2;  // D
  int32_t inputs = 1;       // F: numbers that it reads of an item
};

// The parameters in the order of the flat vector; a weight is [out, in]. The gates of an LSTM are in the order input,
// forget, cell, output, each of the LSTM's width.
std::vector<ParameterSpec> SequenceParameters(const SequenceShape& shape);

// Keys: derived from SequenceKeys.
template <typename Keys>
void AddSequenceFields(FieldTable<Keys>& table) {
  table.Field("hidden", &Keys::hidden)
      .Range(2, 2048)
      .Size()
      .Help("Number of floats in the state of the LSTM that decides; an even number.");
  table.Field("tanh_constant", &Keys::tanh_constant)
      .Range(0.1, 1000)
      .Size({.name = "tanh_tenths", .per_unit = 10})
      .Help("Upper limit of a logit, in steps of 0.1: logits are tanh_constant * tanh(x / temperature).");
  table.Field("temperature", &Keys::temperature)
      .Range(0.1, 1000)
      .Size({.name = "temperature_tenths", .per_unit = 10})
      .Help("Divisor of what becomes a logit, in steps of 0.1. A high one keeps the policy random for longer.");
}

// Throws BadInput for an odd number of floats.
void CheckSequenceKeys(const SequenceKeys& keys);

}  // namespace emplace
