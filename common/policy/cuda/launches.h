// What nvcc compiles, seen from the files that it does not: the pipeline on a CUDA stream. Only files of this folder
// include it.
#pragma once

#include <cuda_runtime_api.h>

#include "common/policy/cuda/workspace.h"

namespace emplace::gpu {

struct Problem;
struct OptimizerState;

// How to cut the work on the current device for graphs of up to `max_nodes` nodes, with at most `shared_limit` bytes of
// shared memory a block. Prepares the kernels for it. Throws RunFailed.
LaunchSizes ChooseLaunchSizes(const PolicyPlan& plan, int32_t max_nodes, int64_t shared_limit);

// The pipeline's passes (pipeline.h), put on the stream. Throw RunFailed when a launch is refused.
void ForwardOnStream(cudaStream_t stream, const Problem& problem, const float* values);
void BackwardOnStream(cudaStream_t stream, const Problem& problem);
void UpdateOnStream(cudaStream_t stream, const Problem& problem, const OptimizerState& optimizer, UpdateReport* report,
                    float* copy);

}  // namespace emplace::gpu
