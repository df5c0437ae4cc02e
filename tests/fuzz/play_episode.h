#pragma once

#include <cstdint>

#include "common/config/run_config.h"
#include "common/trajectory.h"
#include "simulator/placement_task.h"

namespace emplace {

// An episode of random legal actions, as an actor plays and reports it; breaks where the task does not bear that.
Trajectory PlayEpisode(const PlacementTask& task, const EnvironmentConfig& environment, uint64_t seed);

}  // namespace emplace
