// GNMT: Google's translation network (Wu et al., "Google's Neural Machine Translation System", 2016): an LSTM encoder
// whose first layer is bidirectional, an LSTM decoder of as many layers, additive attention that the lowest layer of
// the decoder asks for and all layers read, and residual connections from the third layer on. A graph is one training
// step: forward, backward, SGD update.
//
// The batch of 128 pairs of 50 words is that of the configurations which Google published with its tutorial code
// (repository tensorflow/nmt). As there ("gnmt_v2"), upper layers read the attention of the same step.
//
// The family has networks of other sizes; all of them have fewer ops than the networks of 50 words.
#pragma once

#include <cstdint>

#include "common/rng.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/ranges.h"

namespace emplace {

struct GnmtModel {
  int64_t layers = 2;  // Layers of the encoder, at least two; the decoder has as many.
  int64_t hidden = 1024;
  int64_t batch = 128;
  int64_t steps = 50;          // Word pieces of the source sentence; the target sentence has as many.
  int64_t vocabulary = 32000;  // Word pieces of each language.
};

// The ranges of layers, hidden, batch, steps and vocabulary. `small`: narrow layers and few words, for quick tests.
Ranges GnmtRanges(bool small);
GnmtModel SampleGnmt(Rng& rng, const Ranges& ranges);  // Throws BadInput for fewer than two layers.

// Builds forward pass, backward pass and update. REQUIRES: at least two layers.
TensorProgram BuildGnmt(const GnmtModel& model, const StepOptions& options = {});

}  // namespace emplace
