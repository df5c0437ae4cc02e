// The sequence-to-sequence network once more, in double precision and one number at a time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/sequence_shape.h"
#include "tests/policy/torch/naive_parameters.h"

namespace emplace {

class NaiveSequence {
 public:
  // parameters: has those of SequenceParameters.
  NaiveSequence(const SequenceShape& shape, const NaiveParameters& parameters)
      : shape_(shape), parameters_(parameters) {}

  // Logits [n][D] of an episode that gives the items [n][F] these devices.
  std::vector<NaiveVector> Logits(const std::vector<NaiveVector>& items, const std::vector<uint8_t>& devices) const {
    const auto width = static_cast<size_t>(shape_.hidden);
    const std::vector<NaiveVector> encoded = Encode(items);
    std::vector<NaiveVector> logits;
    State state{NaiveVector(width), NaiveVector(width)};
    for (size_t i = 0; i < items.size(); ++i) {
      const size_t before = i == 0 ? static_cast<size_t>(shape_.num_devices) : devices[i - 1];
      const NaiveVector& table = parameters_["device.weight"];
      const auto row = table.begin() + static_cast<std::ptrdiff_t>(before * width);
      NaiveVector input(row, row + static_cast<std::ptrdiff_t>(width));
      input.insert(input.end(), encoded[i].begin(), encoded[i].end());
      LstmStep("decoder", input, state);
      NaiveVector both = state.hidden;
      for (const double value : Attend(encoded, state.hidden)) both.push_back(value);
      logits.push_back(parameters_.Linear("output", both));
      for (double& x : logits.back()) x = shape_.tanh_constant * std::tanh(x / shape_.temperature);
    }
    return logits;
  }

 private:
  struct State {
    NaiveVector hidden;
    NaiveVector cell;
  };

  NaiveVector Attend(const std::vector<NaiveVector>& encoded, const NaiveVector& hidden) const {
    const NaiveVector query = parameters_.Linear("attention.query", hidden);
    NaiveVector context(hidden.size());
    double total = 0;
    for (const NaiveVector& other : encoded) {
      const NaiveVector key = parameters_.Linear("attention.key", other);
      double score = 0;
      for (size_t k = 0; k < key.size(); ++k)
        score += parameters_["attention.score.weight"][k] * std::tanh(key[k] + query[k]);
      total += std::exp(score);
      for (size_t k = 0; k < key.size(); ++k) context[k] += std::exp(score) * other[k];
    }
    for (double& value : context) value /= total;
    return context;
  }

  void LstmStep(const std::string& name, const NaiveVector& x, State& state) const {
    const NaiveVector of_input = parameters_.Linear(name + ".input", x);
    const NaiveVector of_state = parameters_.Linear(name + ".state", state.hidden);
    const size_t width = state.hidden.size();
    for (size_t i = 0; i < width; ++i) {
      const auto gate = [&](size_t k) { return of_input[k * width + i] + of_state[k * width + i]; };
      state.cell[i] = NaiveSigmoid(gate(1)) * state.cell[i] + NaiveSigmoid(gate(0)) * std::tanh(gate(2));
      state.hidden[i] = NaiveSigmoid(gate(3)) * std::tanh(state.cell[i]);
    }
  }

  std::vector<NaiveVector> Encode(const std::vector<NaiveVector>& items) const {
    const size_t n = items.size();
    const auto half = static_cast<size_t>(shape_.hidden / 2);
    std::vector<NaiveVector> encoded(n);
    for (const bool forward : {true, false}) {
      State state{NaiveVector(half), NaiveVector(half)};
      for (size_t i = 0; i < n; ++i) {
        const size_t at = forward ? i : n - 1 - i;
        LstmStep(forward ? "encoder.forward" : "encoder.backward",
                 NaiveParameters::Relu(parameters_.Linear("input", items[at])), state);
        encoded[at].insert(encoded[at].end(), state.hidden.begin(), state.hidden.end());
      }
    }
    return encoded;
  }

  const SequenceShape shape_;
  const NaiveParameters& parameters_;
};

}  // namespace emplace
