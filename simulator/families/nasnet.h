// NASNet-A large, 6 @ 4032 (Zoph et al., "Learning Transferable Architectures", CVPR 2018) on 331 x 331 images, as the
// authors' ImageNet model: a stem of two reduction cells, then three times N normal cells with a reduction between.
// Without the auxiliary head and drop path.
#pragma once

#include <cstdint>

#include "simulator/families/tensor_program.h"

namespace emplace {

struct NasnetModel {
  int64_t batch = 7;      // On one K80 a step then takes about the 1.28 s of the Placeto talk.
  int64_t image = 331;    // Height and width.
  int64_t repeats = 6;    // N
  int64_t filters = 168;  // Of the first normal cells: 4032 / 24.
  int64_t stem_filters = 96;
  int64_t classes = 1000;
};

// Forward and backward pass and momentum update.
TensorProgram BuildNasnet(const NasnetModel& model, ElementType float_type = ElementType::kFloat32);

}  // namespace emplace
