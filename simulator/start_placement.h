// Where an episode starts (design, section 5).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "simulator/placement_task.h"

namespace emplace {

// Writes [n] devices: "single" puts every group on the best single device, and a group that may not run there on its
// first allowed one; anything else draws uniformly over the devices allowed to each group.
void StartPlacement(const PlacementTask& task, const std::string& start, Rng& rng, std::vector<uint8_t>& placement);

}  // namespace emplace
