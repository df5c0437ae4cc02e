// Transformer-XL (Dai et al., "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context", ACL 2019): a
// language model whose layers attend to the segment and to a memory of the one before, by relative positions. The sizes
// are those of the authors' model of characters with 12 layers (enwik8), with fewer layers. A graph is one training
// step on one segment: forward, backward, Adam update.
#pragma once

#include <cstdint>

#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"

namespace emplace {

struct TransformerXlModel {
  int64_t layers = 2;
  int64_t width = 512;  // Numbers of a character between layers.
  int64_t heads = 8;
  int64_t head_width = 64;
  int64_t inner = 2048;  // Width inside the feed-forward layers.
  int64_t batch = 22;
  int64_t segment = 512;     // Characters that are predicted.
  int64_t memory = 512;      // Characters before them that layers attend to.
  int64_t vocabulary = 204;  // Characters of enwik8.
};

// Builds forward pass, backward pass and update.
TensorProgram BuildTransformerXl(const TransformerXlModel& model, const StepOptions& options = {});

}  // namespace emplace
