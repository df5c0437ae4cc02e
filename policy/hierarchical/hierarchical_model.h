// Learning with a policy of kind hierarchical.
#pragma once

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// REQUIRES: shape.kind is hierarchical; tasks outlive the model.
std::unique_ptr<Model> MakeHierarchicalModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
