#include "policy/placeto/cuda/workspace.h"

#include <algorithm>

#include "policy/placeto/cuda/state_backward.h"

namespace emplace::gpu {
namespace {

Workspace Carve(const PlacetoPlan& plan, const LaunchSizes& sizes, int32_t max_nodes, int32_t max_states,
                Carver& carver) {
  const auto states = static_cast<size_t>(max_states);
  const auto rows = [&](int32_t width) { return carver.Take<float>(states * static_cast<size_t>(width)); };
  const auto floats = [&](int64_t count) { return carver.Take<float>(static_cast<size_t>(count)); };
  const int32_t embedding = plan.embedding_padded;
  const int32_t first_hidden = plan.layers[kClassifier].out_padded;
  const int32_t second_hidden = plan.layers[kClassifier + 1].out_padded;
  Workspace work{};
  work.head.sums = rows(kNumPools * embedding);
  work.head.pool_hidden = rows(kNumPools * embedding);
  work.head.pooled = rows((kNumPools + 1) * embedding);
  work.head.hidden1 = rows(first_hidden);
  work.head.hidden2 = rows(second_hidden);
  work.head.logits = rows(plan.devices_padded);
  work.head.d_sums = rows(kNumPools * embedding);
  work.head.d_pool_hidden = rows(kNumPools * embedding);
  work.head.d_pooled = rows((kNumPools + 1) * embedding);
  work.head.d_hidden1 = rows(first_hidden);
  work.head.d_hidden2 = rows(second_hidden);
  work.head.d_logits = rows(plan.devices_padded);
  work.packed = floats(plan.packed_floats);
  work.gradient = floats(plan.parameters);
  work.body_partials = floats(int64_t{sizes.backward_blocks} * plan.body_parameters);
  work.head_partials = floats(int64_t{kHeadSlices} * plan.head_parameters);
  work.chunk_squares = carver.Take<double>(static_cast<size_t>(plan.chunks));
  work.state_loss = rows(1);
  work.state_entropy = rows(1);
  work.state_ratio = rows(1);
  work.scratch_floats = ScratchFloats(plan, max_nodes);
  work.scratch = floats(sizes.backward_blocks * work.scratch_floats);
  if (max_nodes > sizes.small_nodes) {
    work.arena_floats =
        std::max(ForwardArenaFloats(plan, max_nodes), BackwardArenaFloats(plan, max_nodes, sizes.body_threads));
  }
  work.arenas = floats(std::max(sizes.forward_blocks, sizes.backward_blocks) * work.arena_floats);
  work.control = carver.Take<StepControl>(1);
  return work;
}

}  // namespace

int64_t ForwardArenaFloats(const PlacetoPlan& plan, int32_t n) { return PlanForwardArena(plan, n).floats; }
int64_t BackwardArenaFloats(const PlacetoPlan& plan, int32_t n, int32_t threads) {
  return PlanBackwardArena(plan, n, threads).floats;
}

int32_t NodesThatFit(const PlacetoPlan& plan, int32_t max_nodes, int32_t threads, int64_t bytes) {
  // Monotonic in n: the largest that fits, by bisection.
  int32_t fits = 0;
  int32_t too_many = max_nodes + 1;
  while (too_many - fits > 1) {
    const int32_t middle = fits + (too_many - fits) / 2;
    const int64_t floats = std::max(ForwardArenaFloats(plan, middle), BackwardArenaFloats(plan, middle, threads));
    (floats * static_cast<int64_t>(sizeof(float)) <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

int32_t BodyThreads(const PlacetoPlan& plan, int32_t n) {
  // One thread for each pair of nodes and four columns of a message layer.
  const int32_t items = (n + 1) / 2 * (plan.width_padded / 4);
  return std::clamp((items + 31) / 32 * 32, 64, 256);
}

Workspace ViewWorkspace(const PlacetoPlan& plan, const LaunchSizes& sizes, int32_t max_nodes, int32_t max_states,
                        std::byte* base) {
  Carver carver(base);
  return Carve(plan, sizes, max_nodes, max_states, carver);
}

size_t WorkspaceBytes(const PlacetoPlan& plan, const LaunchSizes& sizes, int32_t max_nodes, int32_t max_states) {
  Carver carver(nullptr);
  Carve(plan, sizes, max_nodes, max_states, carver);
  return carver.used();
}

}  // namespace emplace::gpu
