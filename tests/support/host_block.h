// Runs the GPU's kernels on the host (policy/placeto/cuda/block.h): the items of a phase, and the blocks of a launch,
// run one at a time in random order. A result that depends on the order, which is a race on the GPU, differs between
// seeds. Memory that is read before it is written holds NaN.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "common/rng.h"
#include "policy/placeto/cuda/pipeline.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {

class HostBlock {
 public:
  HostBlock(int32_t rank, int32_t ranks, int32_t threads, float* shared, Rng& rng)
      : rank_(rank), ranks_(ranks), threads_(threads), shared_(shared), rng_(rng) {}

  int32_t rank() const { return rank_; }
  int32_t ranks() const { return ranks_; }
  int32_t threads() const { return threads_; }
  float* shared() const { return shared_; }

  template <typename Item>
  void ForEach(int32_t count, const Item& item) {
    for (const int32_t i : Shuffled(count, rng_)) item(i);
  }
  template <typename Item>
  void ForEachInGrid(int32_t count, const Item& item) {
    for (const int32_t i : Shuffled(count, rng_)) {
      if (i / threads_ % ranks_ == rank_) item(i);
    }
  }

  static std::vector<int32_t> Shuffled(int32_t count, Rng& rng) {
    std::vector<int32_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    Shuffle(rng, order);
    return order;
  }

 private:
  int32_t rank_;
  int32_t ranks_;
  int32_t threads_;
  float* shared_;
  Rng& rng_;
};

// Memory, 256-byte aligned, in which every float is NaN at first.
class NanMemory {
 public:
  explicit NanMemory(size_t bytes) : chunks_(bytes / sizeof(Chunk) + 1) {
    for (Chunk& chunk : chunks_) std::fill(std::begin(chunk.floats), std::end(chunk.floats), kNan);
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(chunks_.data()); }

 private:
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  struct alignas(256) Chunk {
    float floats[64];
  };
  std::vector<Chunk> chunks_;
};

class HostLauncher {
 public:
  explicit HostLauncher(uint64_t seed) : rng_(seed) {}

  template <typename Kernel>
  void Launch(const Kernel& kernel, int32_t blocks, int32_t threads, int64_t shared_bytes) {
    for (const int32_t rank : HostBlock::Shuffled(blocks, rng_)) {
      // As large as the kernel says, rounded up to 256 bytes, so that the address sanitizer sees accesses beyond it.
      NanMemory shared(static_cast<size_t>(shared_bytes));
      HostBlock block(rank, blocks, threads, reinterpret_cast<float*>(shared.data()), rng_);
      kernel(block);
    }
  }

 private:
  Rng rng_;
};

// The kernels' memory for a policy, on the host; PlacetoCuda holds it on the GPU.
class HostPolicy {
 public:
  HostPolicy(const PlacetoShape& shape, const std::vector<const PlacetoGraph*>& graphs, const gpu::LaunchSizes& sizes,
             uint64_t seed)
      : launcher_(seed), graphs_(graphs, shape.num_devices), graph_memory_(graphs_.bytes().size()) {
    problem_.plan = gpu::MakePlacetoPlan(shape);
    problem_.sizes = sizes;
    problem_.max_nodes = graphs_.max_nodes();
    std::memcpy(graph_memory_.data(), graphs_.bytes().data(), graphs_.bytes().size());
    problem_.graphs = graphs_.View(graph_memory_.data());
  }

  void SetBatch(const std::vector<gpu::EpisodeSource>& episodes, const std::vector<gpu::StateEntry>& states,
                const gpu::UpdateScalars& scalars = {}) {
    const gpu::BatchCapacity capacity = gpu::CapacityFor(graphs_, episodes, states.size());
    batch_memory_ = NanMemory(gpu::BatchBytes(capacity));
    problem_.batch = gpu::ViewBatch(capacity, batch_memory_.data());
    gpu::WriteBatch(graphs_, episodes, states, scalars, problem_.sizes.small_nodes, problem_.batch);
    work_memory_ = NanMemory(gpu::WorkspaceBytes(problem_.plan, problem_.sizes, problem_.max_nodes, capacity.states));
    problem_.work =
        gpu::ViewWorkspace(problem_.plan, problem_.sizes, problem_.max_nodes, capacity.states, work_memory_.data());
  }

  // Logits [S, devices] of the batch.
  std::vector<float> Forward(const std::vector<float>& values) {
    gpu::LaunchForward(launcher_, problem_, values.data());
    return Logits();
  }
  std::vector<float> Logits() const {
    std::vector<float> logits;
    for (int32_t s = 0; s < num_states(); ++s) {
      const float* const row = problem_.work.head.logits + s * problem_.plan.devices_padded;
      logits.insert(logits.end(), row, row + problem_.plan.num_devices);
    }
    return logits;
  }
  // Returns the gradient of the parameters from that of the logits, [S, devices]. REQUIRES: Forward was called before.
  std::vector<float> Backward(const std::vector<float>& d_logits) {
    const gpu::PlacetoPlan& plan = problem_.plan;
    for (int32_t s = 0; s < num_states(); ++s) {
      for (int32_t d = 0; d < plan.devices_padded; ++d) {
        problem_.work.head.d_logits[s * plan.devices_padded + d] =
            d < plan.num_devices ? d_logits[static_cast<size_t>(s * plan.num_devices + d)] : 0.0F;
      }
    }
    gpu::LaunchBackward(launcher_, problem_);
    return Gradient();
  }
  std::vector<float> Gradient() const {
    return {problem_.work.gradient, problem_.work.gradient + problem_.plan.parameters};
  }

  gpu::UpdateReport Update(const gpu::OptimizerState& state, std::vector<float>& copy) {
    gpu::UpdateReport report{};
    copy.assign(static_cast<size_t>(problem_.plan.parameters), std::numeric_limits<float>::quiet_NaN());
    gpu::LaunchUpdate(launcher_, problem_, state, &report, copy.data());
    return report;
  }

  const gpu::Problem& problem() const { return problem_; }
  HostLauncher& launcher() { return launcher_; }
  int32_t num_states() const { return problem_.batch.scalars->num_states; }

 private:
  HostLauncher launcher_;
  gpu::CompactGraphs graphs_;
  NanMemory graph_memory_;
  NanMemory batch_memory_{0};
  NanMemory work_memory_{0};
  gpu::Problem problem_;
};

// The weights and the optimizer's state, on the host.
struct HostOptimizer {
  std::vector<float> values;
  std::vector<float> mean;
  std::vector<float> variance;
  int64_t steps = 0;

  explicit HostOptimizer(const std::vector<float>& initial)
      : values(initial), mean(initial.size(), 0.0F), variance(initial.size(), 0.0F) {}
  gpu::OptimizerState view() { return {values.data(), mean.data(), variance.data(), &steps}; }
};

}  // namespace emplace
