// The kernels of a forward pass, a backward pass and an update, in their order. A `Launcher` puts them on a CUDA stream
// or, in tests, runs them on the host. It has one function:
//   void Launch(const Kernel& kernel, int32_t blocks, int32_t threads, int64_t shared_bytes)
// A launch sees everything that earlier launches wrote. Kernel::kName is the kernel's name for people.
#pragma once

#include <algorithm>

#include "policy/placeto/cuda/body_kernels.h"
#include "policy/placeto/cuda/head_kernels.h"
#include "policy/placeto/cuda/loss_kernel.h"
#include "policy/placeto/cuda/optimizer_kernels.h"

namespace emplace::gpu {

// The data that the kernels of one batch work on.
struct Problem {
  PlacetoPlan plan;
  LaunchSizes sizes;
  int32_t max_nodes = 0;  // Nodes of the largest graph
  GraphsView graphs{};
  BatchView batch{};
  Workspace work{};

  bool has_small() const { return sizes.small_nodes > 0; }
  bool has_large() const { return max_nodes > sizes.small_nodes; }
  // Bytes of shared memory of a block of the body.
  int64_t ForwardSharedBytes() const {
    return ForwardArenaFloats(plan, std::min(max_nodes, sizes.small_nodes)) * static_cast<int64_t>(sizeof(float));
  }
  int64_t BackwardSharedBytes() const {
    return BackwardArenaFloats(plan, std::min(max_nodes, sizes.small_nodes), sizes.body_threads) *
           static_cast<int64_t>(sizeof(float));
  }
};

struct OptimizerState {
  float* values;  // [parameters] the weights; mean and variance have the same size
  float* mean;
  float* variance;
  int64_t* adam_steps;
};

inline constexpr int32_t kThreads = 256;  // Threads of a block in all kernels but the body's.

// Computes work.head.logits [S, devices padded] from the flat weights `values`.
template <typename Launcher>
void LaunchForward(Launcher& launcher, const Problem& p, const float* values) {
  launcher.Launch(PackKernel{p.plan, values, p.work.packed}, p.sizes.grid_blocks, kThreads, 0);
  if (p.has_small()) {
    launcher.Launch(BodyForwardKernel<true>{p.plan, p.graphs, p.batch, p.work}, p.sizes.forward_blocks,
                    p.sizes.body_threads, p.ForwardSharedBytes());
  }
  if (p.has_large()) {
    launcher.Launch(BodyForwardKernel<false>{p.plan, p.graphs, p.batch, p.work}, p.sizes.forward_blocks,
                    p.sizes.body_threads, 0);
  }
  launcher.Launch(HeadForwardKernel{p.plan, p.graphs, p.batch, p.work.head, p.work.packed}, p.sizes.grid_blocks,
                  kThreads, 0);
}

// Computes work.gradient from work.head.d_logits. REQUIRES: LaunchForward ran before, on the same batch and weights.
template <typename Launcher>
void LaunchBackward(Launcher& launcher, const Problem& p) {
  launcher.Launch(HeadBackwardKernel{p.plan, p.batch, p.work.head, p.work.packed}, p.sizes.grid_blocks, kThreads, 0);
  launcher.Launch(HeadGradientKernel{p.plan, p.batch, p.work.head, p.work.head_partials}, p.sizes.grid_blocks, kThreads,
                  0);
  if (p.has_small()) {
    launcher.Launch(BodyBackwardKernel<true>{p.plan, p.graphs, p.batch, p.work, true}, p.sizes.backward_blocks,
                    p.sizes.body_threads, p.BackwardSharedBytes());
  }
  if (p.has_large()) {
    launcher.Launch(BodyBackwardKernel<false>{p.plan, p.graphs, p.batch, p.work, !p.has_small()},
                    p.sizes.backward_blocks, p.sizes.body_threads, 0);
  }
  launcher.Launch(ReduceKernel{p.plan, p.work, p.sizes.backward_blocks}, p.sizes.grid_blocks, kThreads,
                  ReduceKernel::kSharedFloats * static_cast<int64_t>(sizeof(float)));
}

// Makes one optimizer step, and writes the new weights to `copy` too.
template <typename Launcher>
void LaunchUpdate(Launcher& launcher, const Problem& p, const OptimizerState& optimizer, UpdateReport* report,
                  float* copy) {
  LaunchForward(launcher, p, optimizer.values);
  launcher.Launch(LossKernel{p.plan, p.batch, p.work}, p.sizes.grid_blocks, kThreads, 0);
  LaunchBackward(launcher, p);
  launcher.Launch(FinishKernel{p.plan, p.batch, p.work, optimizer.adam_steps, report}, 1, kThreads,
                  FinishKernel::kSharedFloats * static_cast<int64_t>(sizeof(float)));
  launcher.Launch(AdamKernel{p.plan, p.work, optimizer.values, optimizer.mean, optimizer.variance, copy},
                  p.sizes.grid_blocks, kThreads, 0);
}

}  // namespace emplace::gpu
