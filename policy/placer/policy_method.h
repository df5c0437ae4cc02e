// The method `policy`: a trained policy, greedy or the best of several sampled episodes.
#pragma once

#include <memory>

#include "policy/policy_weights.h"
#include "simulator/methods/placement_method.h"

namespace emplace {

// The method with this policy, which places from where the policy started its episodes in training. Its Place throws
// BadInput when the policy is for another number of devices than the task.
std::unique_ptr<PlacementMethod> MakePolicyMethod(const PolicyWeights& weights, const MethodOptions& options);
// Lets MakeMethod("policy", options) make it. Searches ask it for a placement; one that plans decides how they search.
void UsePolicy(PolicyWeights weights, MethodOptions& options);

}  // namespace emplace
