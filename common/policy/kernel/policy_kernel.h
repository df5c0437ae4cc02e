// The policy's forward pass without LibTorch: what actors and `emplace place` run.
// Proven equal (1e-5) to the LibTorch reference in common/policy/policy_net.h by tests/common/policy_parity_test.cc.
#pragma once

#include <memory>
#include <span>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_weights.h"
#include "common/policy/simd/kernel_path.h"

namespace emplace {

// What a kernel remembers of an episode, so that its next step computes only what the last one changed. About
// 8 * k * n * m bytes. May go from episode to episode and from kernel to kernel: what does not fit is forgotten. A
// graph is known by its address: it must not change while a cache of it is in use.
class EpisodeCache {
 public:
  EpisodeCache();
  ~EpisodeCache();
  EpisodeCache(EpisodeCache&&) noexcept;
  EpisodeCache& operator=(EpisodeCache&&) noexcept;

 private:
  friend class PolicyKernel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Holds repacked weights and scratch. Not thread-safe: one a thread. Allocates only when a state is larger, or a batch
// longer, than any before.
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
  // The same logits, to the bit, from caches of their own [states.size()]. Fast where a state differs little from the
  // one that the cache last saw: the next step of its episode. REQUIRES also: no cache twice.
  void Forward(std::span<const PolicyState> states, std::span<EpisodeCache* const> caches, std::span<float> logits);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Before a device is chosen by these logits of one state: throws BadInput when none is finite, or one is neither finite
// nor -infinity. Weights are finite, but great ones overflow on the way to a logit.
void CheckLogits(std::span<const float> logits);

}  // namespace emplace
