// The pipeline on a CUDA stream, as functions that files which nvcc does not compile can call. Only files of this
// folder include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "policy/placeto/cuda/workspace.h"

namespace emplace::gpu {

class Stream;
struct Problem;
struct OptimizerState;

// Chooses how to cut the work into blocks on the current device, for graphs of up to `max_nodes` nodes and at most
// `shared_limit` bytes of shared memory for each block, and prepares the kernels for it. Throws RunFailed.
LaunchSizes ChooseLaunchSizes(const PlacetoPlan& plan, int32_t max_nodes, int64_t shared_limit);

// Put the passes of pipeline.h on the stream. They throw RunFailed when a launch is refused.
void ForwardOnStream(cudaStream_t stream, const Problem& problem, const float* values);
void BackwardOnStream(cudaStream_t stream, const Problem& problem);
void UpdateOnStream(cudaStream_t stream, const Problem& problem, const OptimizerState& optimizer, UpdateReport* report,
                    float* copy);

// Makes two updates, waits for their end, and returns the microseconds of each kernel of the second in the order of
// LaunchUpdate, by the device's clock. A time includes the step to the next kernel.
std::vector<double> TimeUpdate(const Stream& stream, const Problem& problem, const OptimizerState& optimizer,
                               UpdateReport* report, float* copy);

}  // namespace emplace::gpu
