// Placeto's whole optimizer step on a GPU, as models.h hands it out.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy_weights.h"
#include "policy/whole_step.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Throws RunFailed when the GPU fails or has too little memory. REQUIRES: WhyNoGpu(initial.shape) is empty; tasks
// outlive the result.
std::unique_ptr<WholeStep> MakePlacetoWholeStep(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
