// Forward and backward pass of the policy on a CPU, which PlacetoModel offers the learner.
// tests/policy/placeto/gradient_parity_test.cc checks that it equals LibTorch's autograd to 1e-4.
//
// States of one graph are computed side by side, one in each lane of a register (gradient_plan.h), so states of one
// graph should be neighbours in the input. The scratch memory of such a tile takes about 50 * n * m * L + 8 * k * n * m
// * L bytes, whatever the number of states. Nothing is kept between Forward and Backward.
#pragma once

#include <memory>
#include <span>

#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/simd/kernel_path.h"

namespace emplace {

// Not thread-safe: each thread needs its own. Allocates only when a graph is larger than any before.
class PlacetoGradient {
 public:
  // Throws BadInput when this processor does not run `path`.
  explicit PlacetoGradient(const PlacetoShape& shape, KernelPath path = BestKernelPath());
  ~PlacetoGradient();

  // Copies values [NumParameters(shape)], in the order of PlacetoLayers.
  void SetWeights(std::span<const float> values);

  // Writes logits [states.size() * num_devices], row-major. Those of devices that are not allowed are not masked.
  // REQUIRES: SetWeights was called, and every state's graph has the shape's num_devices devices.
  void Forward(std::span<const PlacetoState> states, std::span<float> logits);

  // Adds to gradient [NumParameters(shape)] the derivative of sum(logits * logit_gradient). Equal input gives equal
  // bits. logit_gradient: [states.size() * num_devices]; 0 for devices that are not allowed.
  void Backward(std::span<const PlacetoState> states, std::span<const float> logit_gradient, std::span<float> gradient);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
