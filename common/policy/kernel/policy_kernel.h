// The policy's forward pass without LibTorch: what actors and `emplace place` run.
// Proven equal (1e-5) to the LibTorch reference in common/policy/policy_net.h by tests/common/policy_parity_test.cc.
#pragma once

#include <memory>
#include <span>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_weights.h"
#include "common/policy/simd/kernel_path.h"

namespace emplace {

// Holds repacked weights and scratch. Not thread-safe: one a thread. Allocates only when a state is larger than any before.
class PolicyKernel {
 public:
  // Throws BadInput when this processor does not run `path`.
  explicit PolicyKernel(const PolicyWeights& weights, KernelPath path = BestKernelPath());
  ~PolicyKernel();
  PolicyKernel(PolicyKernel&&) noexcept;
  PolicyKernel& operator=(PolicyKernel&&) noexcept;

  const PolicyShape& shape() const;
  PolicyVersion version() const;
  KernelPath path() const;

  // logits [states.size() * num_devices], row-major; -infinity where the current group is not allowed.
  // REQUIRES: every state's graph has shape().num_devices devices.
  void Forward(std::span<const PolicyState> states, std::span<float> logits);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
