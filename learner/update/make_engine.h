// Makes the update engine that the configuration asks for.
#pragma once

#include <memory>
#include <vector>

#include "learner/update/collective.h"
#include "learner/update/update_engine.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// An engine on training.device, with a gradient in training.shards. collective: as MakeModelEngine has it. Throws
// RunFailed when the device is kCuda and GPU number `gpu` cannot be used. REQUIRES: tasks outlive the engine.
std::unique_ptr<UpdateEngine> MakeEngine(const TrainingConfig& config, const std::vector<PlacementTask>& tasks,
                                         const PolicyWeights& initial, Collective* collective = nullptr,
                                         int32_t gpu = 0);

}  // namespace emplace
