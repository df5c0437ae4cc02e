// The nmt family: translation with an LSTM encoder and decoder and attention (Luong et al. 2015, "general" score with
// input feeding), unrolled over both sentences. A graph is one training step: forward, backward, SGD update.
#pragma once

#include <cstdint>
#include <string>

#include "common/rng.h"
#include "simulator/families/tensor_program.h"

namespace emplace {

struct NmtModel {
  int64_t layers = 2;  // Of the encoder, and of the decoder.
  int64_t hidden = 512;
  int64_t batch = 64;
  int64_t steps = 20;  // Words of the source sentence, and of the target sentence.
  int64_t vocabulary = 30000;
};

// size "full": 2..4 layers, hidden 512..1024, batch 32..256, 10..60 steps; "small": 2 layers, hidden 128..256, batch
// 8..16, 3..5 steps.
NmtModel SampleNmt(Rng& rng, const std::string& size);

// Forward pass, backward pass and update.
TensorProgram BuildNmt(const NmtModel& model, ElementType float_type = ElementType::kFloat32);

}  // namespace emplace
