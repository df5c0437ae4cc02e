// AmoebaNet-D (Real et al., "Regularized Evolution for Image Classifier Architecture Search", AAAI 2019) on 224 x 224
// images, with the cells of Google's published TPU model, as GPipe (Huang et al. 2019) trains it: a stem of two
// reduction cells, then three times N normal cells with a reduction between. The auxiliary head and drop path are left
// out. A graph is one training step: forward, backward, momentum update.
#pragma once

#include <cstdint>

#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"

namespace emplace {

struct AmoebanetModel {
  int64_t batch = 32;
  int64_t image = 224;    // Height and width; a multiple of 32.
  int64_t layers = 18;    // L of GPipe: normal cells, a multiple of 3.
  int64_t filters = 208;  // D of GPipe: filters of the first normal cells; a multiple of 16.
  int64_t stem_filters = 32;
  int64_t classes = 1000;
};

// Builds forward pass, backward pass and update. REQUIRES: image, layers and filters are the multiples named above.
TensorProgram BuildAmoebanet(const AmoebanetModel& model, const StepOptions& options = {});

}  // namespace emplace
