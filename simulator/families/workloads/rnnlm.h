// RNNLM: a language model of stacked LSTM layers with projection (Jozefowicz et al., "Exploring the Limits of Language
// Modeling", 2016) on the One Billion Word benchmark: the paper's LSTM-2048-512, with more layers. A graph is one
// training step: forward, backward, SGD update.
//
// As in the paper, the loss is a sampled softmax over 8,192 words and the right one. The paper unrolls 20 words; here
// it is 100, with which the network of eight layers has more than 50,000 ops, as that of SGDP (Zhou et al. 2020) has.
// Left out: the correction of the sampled scores by their probabilities, and the bias of the softmax.
//
// The family has networks of other sizes; they unroll 20 to 40 words.
#pragma once

#include <cstdint>

#include "common/rng.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/ranges.h"

namespace emplace {

struct RnnlmModel {
  int64_t layers = 2;
  int64_t state = 2048;      // Numbers in the memory of a layer.
  int64_t projection = 512;  // Numbers in the output of a layer, and in an embedded word.
  int64_t batch = 128;
  int64_t steps = 100;          // Words of the sequence.
  int64_t vocabulary = 793471;  // Words of the benchmark.
  int64_t sampled = 8192;       // Words that the softmax compares with the right one.
};

// The ranges of all sizes of the model. `small`: narrow layers and few words, for quick tests.
Ranges RnnlmRanges(bool small);
RnnlmModel SampleRnnlm(Rng& rng, const Ranges& ranges);

// Builds forward pass, backward pass and update. Parameters outside the layers are "embedding" and "softmax/weight".
TensorProgram BuildRnnlm(const RnnlmModel& model, const StepOptions& options = {});

}  // namespace emplace
