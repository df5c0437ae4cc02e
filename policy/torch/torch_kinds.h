// The kinds of policy that libemplace_torch.so acts and learns with.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <span>
#include <vector>

#include "policy/model.h"
#include "policy/player.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct TorchKindEntry {
  const char* name;  // That of the PolicyKind.
  std::unique_ptr<Player> (*make_player)(const PolicyShape& shape);
  // REQUIRES: tasks outlive the model.
  std::unique_ptr<Model> (*make_model)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                       c10::Device device);
};

std::span<const TorchKindEntry> TorchKinds();

}  // namespace emplace
