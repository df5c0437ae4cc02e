// Where evolution starts that goes on from a policy that has learned before (policy.initial).
#pragma once

#include "policy/policy_weights.h"

namespace emplace {

// A policy with `share` times the mean of `initial`, so that with less than 1 it lies between that and the planner set
// by hand, and with `factor` times its spread, since what has been learned is narrower than what a new problem may
// need. Only as many parameters are moved and spread as `fresh` has, a new policy of the run: those that
// `initial` lacks are as in `fresh`, those that `fresh` lacks are as in `initial` and stay so. The
// complements of `initial` are left out: they are for a policy like it. REQUIRES: both are
// normal distributions (policy/gaussian.h) of one kind.
PolicyWeights WidenedPlanner(const PolicyWeights& initial, const PolicyWeights& fresh, double share, double factor);

}  // namespace emplace
