// Makes the update engine that the configuration asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/policy/policy_weights.h"
#include "learner/update/update_engine.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// `device` is "cpu", "cuda", or "auto" for a GPU if there is one. Throws RunFailed when it is "cuda" and no GPU can be
// used. REQUIRES: tasks outlive the engine.
std::unique_ptr<UpdateEngine> MakeEngine(const std::string& device, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial);

}  // namespace emplace
