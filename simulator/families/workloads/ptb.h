// The ptb family: recurrent cells of the ENAS search space (Pham et al. 2018, section 2.1) in a language model on Penn
// Treebank sizes. A graph is one training step: forward over an unrolled sequence, backward, SGD update.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/ranges.h"

namespace emplace {

enum class Activation { kTanh, kRelu, kIdentity, kSigmoid };

// One sampled cell and the sizes of the model around it.
struct PtbModel {
  std::vector<int32_t> parent;         // [N] a lower node for node i >= 1; -1 for node 0
  std::vector<Activation> activation;  // [N]
  int64_t batch = 0;                   // B
  int64_t hidden = 0;                  // H
  int64_t steps = 0;                   // Time steps of the unrolled sequence.
  int64_t vocabulary = 10000;          // V
};

// The ranges of nodes, batch, hidden, steps and vocabulary. `small`: eight nodes and few time steps, for quick tests.
Ranges PtbRanges(bool small);
// Samples a cell. Node i gets parent p with probability proportional to exp(-(i - p)^2 / 6), and a uniform activation.
PtbModel SamplePtb(Rng& rng, const Ranges& ranges);

// Builds forward pass, backward pass and update. The parameters are the embedding, which the softmax shares, and a
// matrix for each node.
TensorProgram BuildPtb(const PtbModel& model, const StepOptions& options = {});

}  // namespace emplace
