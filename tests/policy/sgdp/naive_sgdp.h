// The network of SGDP once more, in double precision and one group at a time: what policy/sgdp/sgdp_network.cc is
// compared with.
#pragma once

#include <vector>

#include "policy/policy_weights.h"
#include "simulator/task/group_graph.h"

namespace emplace {

// Logits [n][devices].
std::vector<std::vector<double>> NaiveSgdp(const PolicyWeights& weights, const GroupGraph& graph);

}  // namespace emplace
