// The models that there are, by kind.
#pragma once

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// A model on the CPU. `tasks` are those that episodes are of, index = GraphId. REQUIRES: tasks outlive the model.
std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
