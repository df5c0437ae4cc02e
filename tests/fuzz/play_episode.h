#pragma once

#include <cstdint>

#include "common/trajectory.h"
#include "policy/config/run_config.h"
#include "simulator/environment/environment_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Plays an episode of random allowed actions and returns it as an actor sends it. Fails an EMPLACE_CHECK when the task
// cannot be played.
Trajectory PlayEpisode(const PlacementTask& task, const EnvironmentConfig& environment, uint64_t seed);

}  // namespace emplace
