// Learning with a policy of kind hierarchical.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// REQUIRES: shape.kind is hierarchical; tasks outlive the model.
std::unique_ptr<Model> MakeHierarchicalModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                             c10::Device device);

}  // namespace emplace
