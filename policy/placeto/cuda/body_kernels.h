// The network's body over all states of a batch: a block works on one state after the other. States whose graph fits in
// shared memory go in one launch, the others in a second launch of the same code.
#pragma once

#include "policy/placeto/cuda/state_backward.h"
#include "policy/placeto/cuda/workspace.h"

namespace emplace::gpu {

// kShared is a template parameter, so that the compiler emits loads from shared memory.
template <bool kShared>
struct BodyForwardKernel {
  static constexpr const char* kName = kShared ? "body_forward" : "body_forward_global";

  PlacetoPlan plan;
  GraphsView graphs;
  BatchView batch;
  Workspace work;

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    const int32_t begin = kShared ? 0 : batch.scalars->num_small;
    const int32_t end = kShared ? batch.scalars->num_small : batch.scalars->num_states;
    float* const arena = kShared ? block.shared() : work.arenas + block.rank() * work.arena_floats;
    const int32_t e = plan.embedding_padded;
    for (int32_t i = begin + block.rank(); i < end; i += block.ranks()) {
      const int32_t state = batch.order[i];
      ForwardState(block, plan, work.packed, ViewState(graphs, batch, plan.num_devices, state), arena,
                   work.head.sums + static_cast<int64_t>(state) * kNumPools * e,
                   work.head.pooled + (static_cast<int64_t>(state) * (kNumPools + 1) + kNumPools) * e);
    }
  }
};

template <bool kShared>
struct BodyBackwardKernel {
  static constexpr const char* kName = kShared ? "body_backward" : "body_backward_global";

  PlacetoPlan plan;
  GraphsView graphs;
  BatchView batch;
  Workspace work;
  bool start;  // The first launch on these partial gradients sets them to zero.

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    const int32_t begin = kShared ? 0 : batch.scalars->num_small;
    const int32_t end = kShared ? batch.scalars->num_small : batch.scalars->num_states;
    float* const arena = kShared ? block.shared() : work.arenas + block.rank() * work.arena_floats;
    float* const partial = work.body_partials + static_cast<int64_t>(block.rank()) * plan.body_parameters;
    const int32_t e = plan.embedding_padded;
    if (start) block.ForEach(plan.body_parameters, [&](int32_t i) { partial[i] = 0.0F; });
    for (int32_t i = begin + block.rank(); i < end; i += block.ranks()) {
      const int32_t state = batch.order[i];
      BackwardState(block, plan, work.packed, ViewState(graphs, batch, plan.num_devices, state),
                    work.head.d_sums + static_cast<int64_t>(state) * kNumPools * e,
                    work.head.d_pooled + (static_cast<int64_t>(state) * (kNumPools + 1) + kNumPools) * e, arena,
                    work.scratch + block.rank() * work.scratch_floats, partial);
    }
  }
};

}  // namespace emplace::gpu
