// The method `policy`: a trained policy, greedy or the best of several sampled episodes.
#pragma once

#include <memory>

#include "policy/policy_weights.h"
#include "simulator/methods/placement_method.h"

namespace emplace {

// Lets MakeMethod("policy", options) place with this policy, which it does from where the policy started its episodes
// in training. Its Place throws BadInput when the policy is for another number of devices than the task.
void UsePolicy(PolicyWeights weights, MethodOptions& options);

}  // namespace emplace
