// Makes the update engine that the configuration asks for.
#pragma once

#include <memory>
#include <vector>

#include "learner/update/update_engine.h"
#include "policy/policy_weights.h"
#include "policy/run_config.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// `device` is training.device. Throws RunFailed when it is kCuda and no GPU can be
// used. REQUIRES: tasks outlive the engine.
std::unique_ptr<UpdateEngine> MakeEngine(LearnerDevice device, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial);

}  // namespace emplace
