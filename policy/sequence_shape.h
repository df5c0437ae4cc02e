// What a sequence-to-sequence network (sequence_network.h) is made of, for the kinds that have one: its keys in section
// `policy`, its sizes and its parameters. No LibTorch.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/config/field_table.h"
#include "common/error.h"
#include "common/strings.h"
#include "policy/policy_kind.h"
#include "policy/policy_shape.h"

namespace emplace {

struct SequenceShape {
  int32_t num_devices = 2;  // D
  int32_t inputs = 1;       // F: numbers that it reads of an item
  int32_t hidden = 64;      // H: width of the LSTMs. The encoder has H / 2 in each direction.
  // The largest logit in tenths, C * 10: logits are C * tanh(x / temperature).
  int32_t tanh_tenths = 50;
  int32_t temperature_tenths = 10;

  // REQUIRES: the shape has SequenceSizes.
  static SequenceShape Of(const PolicyShape& shape, int32_t inputs);
};

std::vector<SizeField> SequenceSizes();

// The parameters in the order of the flat vector; a weight is [out, in]. The gates of an LSTM are in the order input,
// forget, cell, output, each of the LSTM's width.
std::vector<ParameterSpec> SequenceParameters(const SequenceShape& shape);

// Adds the keys of Config::hidden, tanh_constant and temperature.
template <typename Config>
void AddSequenceFields(FieldTable<Config>& table) {
  table.Field("hidden", &Config::hidden)
      .Range(2, 2048)
      .Help("Number of floats in the state of the LSTM that decides; an even number.");
  table.Field("tanh_constant", &Config::tanh_constant)
      .Range(0.1, 1000)
      .Help("Upper limit of a logit, in steps of 0.1: logits are tanh_constant * tanh(x / temperature).");
  table.Field("temperature", &Config::temperature)
      .Range(0.1, 1000)
      .Help("Divisor of what becomes a logit, in steps of 0.1. A high one keeps the policy random for longer.");
}

// SequenceSizes of these keys. Throws BadInput for an odd number of floats.
template <typename Config>
std::map<std::string, int64_t> SequenceSizesOf(const Config& config) {
  if (config.hidden % 2 != 0) throw BadInput(StrCat("policy.hidden is ", config.hidden, ", expected an even number"));
  return {{"hidden", config.hidden},
          {"tanh_tenths", std::llround(config.tanh_constant * 10)},
          {"temperature_tenths", std::llround(config.temperature * 10)}};
}

}  // namespace emplace
