// The engine of a learner with a GPU: the whole step in the project's own kernels (common/policy/cuda).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/policy/policy_weights.h"
#include "learner/update/update_engine.h"
#include "simulator/placement_task.h"

namespace emplace {

// Empty where there is a GPU to use, else why there is none.
std::string WhyNoCuda();

// Throws RunFailed when the device fails or has too little memory. REQUIRES: WhyNoCuda() is empty.
std::unique_ptr<UpdateEngine> MakeCudaEngine(const std::vector<PlacementTask>& tasks, const PolicyWeights& initial);

}  // namespace emplace
