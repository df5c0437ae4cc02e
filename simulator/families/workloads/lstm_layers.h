// What recurrent workloads share: embedded words, and LSTM cells, one step at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/families/program/tensor_program.h"

namespace emplace {

struct LstmState {
  TensorId h = -1;  // [B, output]: what the next layer and the next step read
  TensorId c = -1;  // [B, state]: the memory
};

// The embedded words of a sentence: [B, width] for each of its steps. Adds the parameter "<sentence>/embedding" and the
// input "<sentence>/tokens".
std::vector<TensorId> EmbedWords(TensorProgram& program, const std::string& sentence, int64_t vocabulary, int64_t width,
                                 int64_t steps, int64_t batch);

// Adds the mean cross entropy of one step's words to the sum over the steps before it. logits: [B, words]; labels:
// [steps, B]; before: -1: this is the first step. Ops are named "<name>softmax/log_softmax", "<name>loss/nll" and
// "<name>loss/sum".
TensorId AddStepLoss(TensorProgram& program, const std::string& name, TensorId logits, TensorId labels, int64_t step,
                     TensorId before);

// The gates of a cell in this order everywhere: input gate, candidate, forget gate, output gate.
inline constexpr int kLstmGates = 4;

// Adds what follows the products: from the gates before their activations, [B, state] each, and the memory, makes the
// new memory and h [B, state]. Ops are named "<name>in", "<name>candidate", ...
LstmState ApplyLstmGates(TensorProgram& program, const std::string& name, const std::array<TensorId, kLstmGates>& gates,
                         TensorId memory);

// A layer whose gates have weights, and products, of their own:
//   gate = activation(x W + h U + b), 8 products a step
// as the equations of Hochreiter's LSTM are written and as Keras computes them by default ("implementation 1"). Each
// gate can therefore be placed alone. With a projection, h = (out * tanh(c)) P (LSTMP, Sak et al. 2014).
class LstmLayer {
 public:
  // x: [B, input]. projection: width of h; 0: h is as wide as the state. Adds the parameters, "<name>/in/x_weight", ...
  // REQUIRES: the program outlives the object.
  LstmLayer(TensorProgram& program, const std::string& name, int64_t input, int64_t state, int64_t projection = 0);

  // Adds one step. Ops are named "<name>/...".
  LstmState Step(const std::string& name, TensorId x, const LstmState& before) const;

 private:
  struct Gate {
    TensorId x_weight = -1;  // [input, state]
    TensorId h_weight = -1;  // [output, state]
    TensorId bias = -1;      // [state]
  };

  TensorProgram& program_;
  std::array<Gate, kLstmGates> gates_;
  TensorId projection_ = -1;  // [state, output]; -1: none
};

}  // namespace emplace
