// NASNet-A large, 6 @ 4032 (Zoph et al., "Learning Transferable Architectures", CVPR 2018) on 331 x 331 images, as the
// authors' ImageNet model: a stem of two reduction cells, then three times N normal cells with a reduction between.
// The auxiliary head and drop path are left out.
#pragma once

#include <cstdint>

#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"

namespace emplace {

struct NasnetModel {
  int64_t batch = 7;      // With this batch a step on one K80 takes about the 1.28 s of the Placeto talk.
  int64_t image = 331;    // Height and width.
  int64_t repeats = 6;    // N
  int64_t filters = 168;  // Filters of the first normal cells: 4032 / 24.
  int64_t stem_filters = 96;
  int64_t classes = 1000;
};

// Builds forward pass, backward pass and momentum update.
TensorProgram BuildNasnet(const NasnetModel& model, const StepOptions& options = {});

}  // namespace emplace
