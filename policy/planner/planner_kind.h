// The kind `planner`: a policy whose parameters are those of the planner itself, the constructor `list` and the search
// `auto` (simulator/methods/planner_parameters.h), so that it places any graph on any number of devices. What it has
// learned is a normal distribution over them (policy/gaussian.h), in steps from what is set by hand. No LibTorch.
#pragma once

#include "policy/policy_kind.h"

namespace emplace {

const PolicyKind& PlannerKind();

}  // namespace emplace
