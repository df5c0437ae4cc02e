// A second policy network, as the oracle for tests of the kernel and of the LibTorch module: it computes one node at a
// time in double precision and shares no code with either. It is slow.
#pragma once

#include <vector>

#include "policy/placeto/placeto_graph.h"
#include "policy/policy_weights.h"

namespace emplace {

// The logits, [num_devices]; -infinity for devices that the current node may not use.
std::vector<double> NaivePlacetoLogits(const PolicyWeights& weights, const PlacetoState& state);

}  // namespace emplace
