// Forward and backward of the policy without LibTorch: what the learner runs on a CPU, inside an autograd function
// (common/policy/fused_policy.h). Equal to the LibTorch reference's autograd to 1e-4 by
// tests/common/fused_policy_test.cc.
//
// Many states of one graph go side by side, one in each lane of a register (gradient_plan.h), so states of one graph
// should come together. Memory: scratch of one such tile, about 50 * n * m * L + 8 * k * n * m * L bytes, whatever the
// number of states; nothing is kept between Forward and Backward.
#pragma once

#include <memory>
#include <span>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_shape.h"
#include "common/policy/simd/kernel_path.h"

namespace emplace {

// Not thread-safe: one a thread. Allocates only when a graph is larger than any before.
class PolicyGradient {
 public:
  // Throws BadInput when this processor does not run `path`.
  explicit PolicyGradient(const PolicyShape& shape, KernelPath path = BestKernelPath());
  ~PolicyGradient();

  // values: [NumParameters(shape)] in the order of PolicyLayers; copied.
  void SetWeights(std::span<const float> values);

  // logits [states.size() * num_devices], row-major; also of devices that are not allowed, whatever comes out.
  // REQUIRES: SetWeights was called, every state's graph has shape().num_devices devices.
  void Forward(std::span<const PolicyState> states, std::span<float> logits);

  // Adds to gradient [NumParameters(shape)] the derivative of sum(logits * logit_gradient). Equal input gives equal
  // bits. logit_gradient: [states.size() * num_devices]; 0 for devices that are not allowed.
  void Backward(std::span<const PolicyState> states, std::span<const float> logit_gradient, std::span<float> gradient);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
