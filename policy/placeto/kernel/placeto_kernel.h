// The policy's forward pass without LibTorch: what actors and `emplace place` run.
// Proven equal (1e-5) to the LibTorch reference in tests/support/placeto_net.h by
// tests/policy/placeto/placeto_parity_test.cc.
#pragma once

#include <memory>
#include <span>

#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"
#include "policy/simd/kernel_path.h"

namespace emplace {

// The kernel's results for the last step of an episode, so that the next step computes only what has changed. Takes
// about 8 * k * n * m bytes. A cache can be used for another episode or with another kernel: results that do not fit
// are forgotten. A graph is recognised by its address, so it must not change while a cache for it is in use.
class EpisodeCache {
 public:
  EpisodeCache();
  ~EpisodeCache();
  EpisodeCache(EpisodeCache&&) noexcept;
  EpisodeCache& operator=(EpisodeCache&&) noexcept;

 private:
  friend class PlacetoKernel;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Holds repacked weights and scratch memory. Not thread-safe: each thread needs its own. Allocates only when a state is
// larger, or a batch longer, than any before.
class PlacetoKernel {
 public:
  // Throws BadInput when this processor does not run `path`.
  explicit PlacetoKernel(const PolicyWeights& weights, KernelPath path = BestKernelPath());
  ~PlacetoKernel();
  PlacetoKernel(PlacetoKernel&&) noexcept;
  PlacetoKernel& operator=(PlacetoKernel&&) noexcept;

  const PlacetoShape& shape() const;
  PolicyVersion version() const;
  KernelPath path() const;

  // Writes logits [states.size() * num_devices], row-major, with -infinity for devices that the group may not use.
  // REQUIRES: every state's graph has shape().num_devices devices.
  void Forward(std::span<const PlacetoState> states, std::span<float> logits);
  // Writes the same logits, bit for bit, with a cache for each state [states.size()]. This is fast when a state is the
  // next step of the episode that its cache last saw. REQUIRES also: no cache is given twice.
  void Forward(std::span<const PlacetoState> states, std::span<EpisodeCache* const> caches, std::span<float> logits);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
