// Inception-V3 (Szegedy et al., "Rethinking the Inception Architecture", CVPR 2016) on 299 x 299 images, as torchvision
// writes it, with its auxiliary head.
#pragma once

#include <cstdint>

#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"

namespace emplace {

struct InceptionV3Model {
  int64_t batch = 47;   // With this batch a step on one K80 takes about the 1.56 s of the Placeto talk.
  int64_t image = 299;  // Height and width.
  int64_t classes = 1000;
  int64_t divisor = 1;  // Divides every width; tests use a narrow copy.
};

// Builds forward pass, backward pass and momentum update. Parameters of the auxiliary head are named "aux/...".
TensorProgram BuildInceptionV3(const InceptionV3Model& model, const StepOptions& options = {});

}  // namespace emplace
