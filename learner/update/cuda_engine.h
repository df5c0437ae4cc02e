// The update engine for a GPU: the whole optimizer step is in the project's own kernels (policy/placeto/cuda).
#pragma once

#include <memory>
#include <vector>

#include "learner/update/update_engine.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The kind of policy that the kernels are of.
inline constexpr char kCudaEngineKind[] = "placeto";

// Throws RunFailed when the GPU fails or has too little memory. REQUIRES: WhyNoGpu(initial.shape) is empty; tasks
// outlive the engine.
std::unique_ptr<UpdateEngine> MakeCudaEngine(const std::vector<PlacementTask>& tasks, const PolicyWeights& initial);

}  // namespace emplace
