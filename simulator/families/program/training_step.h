// One training step of a model, built from its forward pass: for each micro-batch forward and backward pass, then the
// sums of their gradients and one update of each parameter.
#pragma once

#include <cstdint>
#include <functional>

#include "simulator/families/program/backward.h"
#include "simulator/families/program/tensor_program.h"

namespace emplace {

struct StepOptions {
  ElementType float_type = ElementType::kFloat32;  // Of parameters and activations.
  int64_t microbatches = 1;                        // K, 1..batch
  bool runnable = false;                           // Whether ops get the calls by which they can be run (aten_calls.h).
  bool forward_only = false;                       // Whether backward pass and updates are left out, for inference.
};

// forward(program, batch): adds the forward pass for so many examples, and returns the loss. It must add the same ops
// for every batch, with shapes that may differ.
//
// The examples are divided as evenly as possible; where K does not divide the batch, the first micro-batches have one
// more. Gradients are added up as they are, micro-batch by micro-batch, beside their parameter ("group"). If the loss
// is a mean, the update therefore sees K times the gradient of the mean of the micro-batches' losses. Throws BadInput
// unless K is in 1..batch.
TensorProgram BuildTrainingStep(const StepOptions& options, int64_t batch, Optimizer optimizer,
                                const std::function<TensorId(TensorProgram& program, int64_t batch)>& forward);

// The training step of a model whose forward pass Builder(part, program).Build() adds; `part` is the model with
// `batch` as large as the micro-batch.
template <typename Builder, typename Model>
TensorProgram BuildModelStep(const Model& model, const StepOptions& options, Optimizer optimizer) {
  return BuildTrainingStep(options, model.batch, optimizer, [&](TensorProgram& program, int64_t batch) {
    Model part = model;
    part.batch = batch;
    return Builder(part, program).Build();
  });
}

}  // namespace emplace
