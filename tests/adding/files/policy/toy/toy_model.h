// Learning with a policy of kind toy.
#pragma once

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// REQUIRES: shape.kind is toy; tasks outlive the model.
std::unique_ptr<Model> MakeToyModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
