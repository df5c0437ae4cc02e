// The placement from which an episode starts.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/environment/environment_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Writes placement [n]. With kSingle every group is on the best single device, or on its first allowed device if
// it may not run there. Any other start draws uniformly from the devices allowed for each group.
void StartPlacement(const PlacementTask& task, Start start, Rng& rng, std::vector<uint8_t>& placement);

}  // namespace emplace
