// Learning with a Placeto policy on the CPU, by the gradient kernel (gradient/placeto_gradient.h).
#pragma once

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"

namespace emplace {

// REQUIRES: shape.kind is placeto; tasks outlive the model.
std::unique_ptr<Model> MakePlacetoModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
