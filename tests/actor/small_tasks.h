// A few random small tasks on one cluster of two devices, and weights for them. A seed decides all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Each task has at most 12 groups; in some groups one device is not allowed.
std::vector<PlacementTask> SmallTasks(uint64_t seed, int count);
std::shared_ptr<const PolicyWeights> SmallWeights(uint64_t seed, PolicyVersion version);

}  // namespace emplace
