// Opens libemplace_torch.so, which is beside the programs or in ../lib of their folder, the first time that it is
// needed. It stays open until the process ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/model.h"
#include "policy/player.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// All throw RunFailed when the library is absent, cannot be opened, or is of another version. Thread-safe.
std::unique_ptr<Player> MakeTorchPlayer(const PolicyShape& shape);
std::unique_ptr<Model> MakeTorchModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);
// As WhyNoGpu and MakeGpuModel (policy/models.h).
std::string WhyNoTorchGpu(const PolicyShape& shape);
std::unique_ptr<Model> MakeTorchGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                         int32_t gpu);

}  // namespace emplace
