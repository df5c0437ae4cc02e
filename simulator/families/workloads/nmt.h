// The nmt family: translation with an LSTM encoder and decoder and attention (Luong et al. 2015, "general" score with
// input feeding), unrolled over both sentences. A graph is one training step: forward, backward, SGD update.
#pragma once

#include <cstdint>

#include "common/rng.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/ranges.h"

namespace emplace {

struct NmtModel {
  int64_t layers = 2;  // Layers of the encoder; the decoder has as many.
  int64_t hidden = 512;
  int64_t batch = 64;
  int64_t steps = 20;  // Words of the source sentence; the target sentence has as many.
  int64_t vocabulary = 30000;
};

// The ranges of layers, hidden, batch, steps and vocabulary.
Ranges NmtRanges(bool small);
NmtModel SampleNmt(Rng& rng, const Ranges& ranges);

// Builds forward pass, backward pass and update.
TensorProgram BuildNmt(const NmtModel& model, const StepOptions& options = {});

}  // namespace emplace
