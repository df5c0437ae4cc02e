// Opens libemplace_torch.so, which is beside the programs or in ../lib of their folder, the first time that it is
// needed. It stays open until the process ends.
#pragma once

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/player.h"
#include "policy/policy_shape.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// Both throw RunFailed when the library is absent, cannot be opened, or is of another version. Thread-safe.
std::unique_ptr<Player> MakeTorchPlayer(const PolicyShape& shape);
std::unique_ptr<Model> MakeTorchModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
