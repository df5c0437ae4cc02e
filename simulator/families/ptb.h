// The ptb family: recurrent cells of the ENAS search space (Pham et al. 2018, section 2.1) in a language model on Penn
// Treebank sizes. A graph is one training step: forward over an unrolled sequence, backward, SGD update.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/families/ranges.h"
#include "simulator/families/tensor_program.h"

namespace emplace {

enum class Activation { kTanh, kRelu, kIdentity, kSigmoid };

// One sampled cell and the sizes of the model around it.
struct PtbModel {
  std::vector<int32_t> parent;         // [N] of node i >= 1: a lower node; of node 0: -1
  std::vector<Activation> activation;  // [N]
  int64_t batch = 0;                   // B
  int64_t hidden = 0;                  // H
  int64_t steps = 0;                   // Unroll over time.
  int64_t vocabulary = 10000;          // V
};

// nodes, batch, hidden, steps, vocabulary. `small`: eight nodes and a short unroll, for smoke runs.
Ranges PtbRanges(bool small);
// Node i takes parent p with probability proportional to exp(-(i - p)^2 / 6), and an activation uniformly.
PtbModel SamplePtb(Rng& rng, const Ranges& ranges);

// Forward pass, backward pass and update. parameters: the embedding (tied with the softmax) and one matrix a node.
TensorProgram BuildPtb(const PtbModel& model, ElementType float_type = ElementType::kFloat32);

}  // namespace emplace
