// WaveNet (van den Oord et al., "WaveNet: A Generative Model for Raw Audio", 2016): stacks of dilated causal
// convolutions with gated activations, which predict each sample of a waveform from those before it, without
// conditions. The 9 layers of a stack, with dilations 1, 2, ..., 256, are those of SGDP's networks, 18 layers in 2
// stacks and 36 in 4. The widths are those of the NSynth authors' published WaveNet (Engel et al. 2017). A graph is one
// training step: forward, backward, Adam update.
#pragma once

#include <cstdint>

#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"

namespace emplace {

struct WavenetModel {
  int64_t stacks = 2;
  int64_t stack_layers = 9;  // Layer i of a stack, from 0, has dilation 2^i.
  int64_t channels = 512;    // Of the residual connections, and of the filters and gates.
  int64_t skip = 256;        // Channels of the skip connections, and of the head.
  int64_t levels = 256;      // Values of a sample (mu-law).
  int64_t batch = 4;
  int64_t samples = 6144;
};

// Builds forward pass, backward pass and update.
TensorProgram BuildWavenet(const WavenetModel& model, const StepOptions& options = {});

}  // namespace emplace
