// The update engine for the CPU: LibTorch's autograd with the project's own forward and backward kernels.
#pragma once

#include <memory>
#include <vector>

#include "learner/update/update_engine.h"
#include "policy/policy_weights.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// REQUIRES: tasks outlive the engine.
std::unique_ptr<UpdateEngine> MakeCpuEngine(const std::vector<PlacementTask>& tasks, const PolicyWeights& initial);

}  // namespace emplace
