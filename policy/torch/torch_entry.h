// What libemplace_torch.so offers the programs: the players and models that are computed with LibTorch.
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

struct TorchEntry {
  // EMPLACE_VERSION of the library. The rest may only be used by a program of the same version.
  const char* version;
  // As MakePlayer, MakeModel, WhyNoGpu and MakeGpuModel. REQUIRES: the shape is of a kind that is computed with
  // LibTorch.
  std::unique_ptr<Player> (*make_player)(const PolicyShape& shape);
  std::unique_ptr<Model> (*make_model)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);
  std::string (*why_no_gpu)();
  std::unique_ptr<Model> (*make_gpu_model)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                           int32_t gpu);
};

// The name of the library's one function, which returns the TorchEntry.
inline constexpr char kTorchEntryName[] = "EmplaceTorchEntry";
using TorchEntryFunction = const TorchEntry* (*)();

}  // namespace emplace
