// The policy network written down once more, as the design says it (section 5), one node at a time and in double
// precision: the oracle for the kernel and for the LibTorch module. Slow; shares no code with either.
#pragma once

#include <vector>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_weights.h"

namespace emplace {

// logits [num_devices]; -infinity where the current node is not allowed.
std::vector<double> NaivePolicyLogits(const PolicyWeights& weights, const PolicyState& state);

}  // namespace emplace
