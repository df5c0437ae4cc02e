// The cifar10 family: convolutional cells of the ENAS micro search space (Pham et al. 2018, section 2.3) in an image
// classifier. A graph is one training step: forward, backward, momentum update.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/ranges.h"

namespace emplace {

enum class CellOp { kSeparable3, kSeparable5, kAveragePool, kMaxPool, kIdentity };

// A block adds op[0] of input[0] and op[1] of input[1]. Inputs: 0, the cell before the previous one; 1, the previous
// cell; 2 + i, block i of this cell.
struct CellBlock {
  std::array<int32_t, 2> input;
  std::array<CellOp, 2> op;
};

struct Cifar10Model {
  std::vector<CellBlock> normal;
  std::vector<CellBlock> reduction;
  int64_t cells = 6;  // Normal cells. Two reduction cells come besides, at cells / 3 and 2 (cells / 3) + 1.
  int64_t filters = 20;
  int64_t batch = 160;
  int64_t image = 32;  // Height and width.
  int64_t classes = 10;
};

// The ranges of cells, filters and batch.
Ranges Cifar10Ranges(bool small);
// Samples cells of five blocks. Inputs are drawn uniformly; a separable convolution is exp(0.44) times as
// likely as any other op.
Cifar10Model SampleCifar10(Rng& rng, const Ranges& ranges);

// Builds forward pass with the auxiliary head, backward pass and update.
TensorProgram BuildCifar10(const Cifar10Model& model, const StepOptions& options = {});

}  // namespace emplace
