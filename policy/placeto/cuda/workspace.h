// The arrays of an update on the device, and their sizes.
#pragma once

#include "policy/placeto/cuda/compact_batch.h"
#include "policy/placeto/cuda/placeto_plan.h"

namespace emplace::gpu {

// How the work is cut into blocks. With the same sizes, equal input gives equal bits.
struct LaunchSizes {
  int32_t body_threads = 256;
  int32_t forward_blocks = 1;  // Blocks of the body that are resident at the same time
  int32_t backward_blocks = 1;
  int32_t grid_blocks = 1;  // Blocks of all other kernels
  int32_t small_nodes = 0;  // Graphs of up to this many nodes work in shared memory; the others in global memory
};

// States are summed in this many slices for the weight gradients of the head.
inline constexpr int32_t kHeadSlices = 16;

// The results of an update for the host.
struct UpdateReport {
  double loss;
  double entropy;          // Mean over states, nats
  double mean_importance;  // Before clipping
  double gradient_norm;    // Before clipping
  int64_t adam_steps;      // After this update
  int32_t applied;         // 0: the gradient was not finite, and the weights are unchanged
};

// The factors of an Adam step, which depend on the sums over the whole gradient.
struct StepControl {
  double scale;  // Factor of the gradient, which clips its norm
  double learning_rate;
  double correction_mean;  // 1 - beta^steps
  double correction_variance;
  int32_t apply;  // 0: the weights stay unchanged
};

// Activations and gradients of the head for S states; each row is padded. If the policy does not pool, the three parts
// of `pooled` are zeros, and sums, pool_hidden and their gradients are not used.
struct HeadArrays {
  float* sums;         // [S, 3, e] relu(F(e)) summed over the ancestors, the descendants and the others
  float* pool_hidden;  // [S, 3, e] hidden layer of G
  float* pooled;       // [S, 4, e] G of the three, then the current node's own e
  float* hidden1;      // [S, 2D]
  float* hidden2;      // [S, D]
  float* logits;       // [S, devices]
  float* d_sums;       // Gradients, sized as above; for pool_hidden, pooled, hidden1 and hidden2 those before the relu
  float* d_pool_hidden;
  float* d_pooled;
  float* d_hidden1;
  float* d_hidden2;
  float* d_logits;
};

struct Workspace {
  HeadArrays head;
  float* packed;          // [plan.packed_floats]
  float* gradient;        // [parameters]
  float* body_partials;   // [backward_blocks, body_parameters]
  float* head_partials;   // [kHeadSlices, head_parameters]
  double* chunk_squares;  // [chunks] sums of squares of the gradient
  float* state_loss;      // [S]
  float* state_entropy;   // [S]
  float* state_ratio;     // [S]
  float* scratch;         // [backward_blocks, scratch_floats] data of a state that the backward pass keeps
  float* arenas;          // [the larger number of blocks, arena_floats] for graphs that do not fit; may be empty
  int64_t scratch_floats;
  int64_t arena_floats;
  StepControl* control;
};

// Floats of shared memory for a state of n nodes.
int64_t ForwardArenaFloats(const PlacetoPlan& plan, int32_t n);
int64_t BackwardArenaFloats(const PlacetoPlan& plan, int32_t n, int32_t threads);
// The largest number of nodes, up to `max_nodes`, for which the backward pass fits into `bytes` of shared memory; or 0.
int32_t NodesThatFit(const PlacetoPlan& plan, int32_t max_nodes, int32_t threads, int64_t bytes);
// Threads for a block that works on a state of n nodes.
int32_t BodyThreads(const PlacetoPlan& plan, int32_t n);

Workspace ViewWorkspace(const PlacetoPlan& plan, const LaunchSizes& sizes, int32_t max_nodes, int32_t max_states,
                        std::byte* base);
size_t WorkspaceBytes(const PlacetoPlan& plan, const LaunchSizes& sizes, int32_t max_nodes, int32_t max_states);

}  // namespace emplace::gpu
