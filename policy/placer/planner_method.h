// Placing with a policy that plans (PolicyKind::plans).
#pragma once

#include <cstdint>
#include <memory>

#include "policy/policy_weights.h"
#include "simulator/methods/placement_method.h"

namespace emplace {

// The planner with the policy's mean parameters. REQUIRES: the policy's kind plans.
std::shared_ptr<const PlannerParameters> MeanPlanner(const PolicyWeights& weights);

// The method that places with options.planner and simulates about `budget` placements: `auto`, or for a budget of 1 a
// single pass of `list`. With equal arguments it gives equal placements.
std::unique_ptr<PlacementMethod> MakePlannerMethod(MethodOptions options, int64_t budget);

// The method `policy` with this policy: a single pass with its mean parameters, and the best of it and as many further
// passes as options.own asks samples for, the first with the policy's complements (policy/gaussian.h), each further one
// with parameters drawn by options.seed. REQUIRES: the policy's kind
// plans.
std::unique_ptr<PlacementMethod> MakePlannerPolicyMethod(const PolicyWeights& weights, const MethodOptions& options);

}  // namespace emplace
