// A few small tasks on one two-device cluster, and weights for them, by seed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/policy/policy_weights.h"
#include "simulator/placement_task.h"

namespace emplace {

// Each has at most 12 groups; in some groups one device is not allowed.
std::vector<PlacementTask> SmallTasks(uint64_t seed, int count);
std::shared_ptr<const PolicyWeights> SmallWeights(uint64_t seed, PolicyVersion version);

}  // namespace emplace
