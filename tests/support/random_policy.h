// Random graphs, states and weights for tests of the policy. Everything follows from the generator given.
#pragma once

#include <cstdint>
#include <vector>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_weights.h"
#include "common/rng.h"

namespace emplace {

// n nodes, each with up to `max_parents` distinct parents among those before it. In about a third of the rows some
// devices are not allowed.
PolicyGraph RandomPolicyGraph(int32_t num_nodes, int32_t num_devices, int32_t max_parents, Rng& rng);

// A state together with the placement it points to.
struct OwnedState {
  const PolicyGraph* graph = nullptr;
  std::vector<uint8_t> placement;
  int32_t step = 0;

  PolicyState view() const { return {graph, placement.data(), step}; }
};
// Views of the states, which have to outlive them.
std::vector<PolicyState> Views(const std::vector<OwnedState>& states);
OwnedState RandomPolicyState(const PolicyGraph& graph, Rng& rng);

// devices 1..8, width 0, 5 or 16, 0..8 rounds, with and without memory and pooling.
PolicyShape RandomPolicyShape(Rng& rng);
// Glorot weights with random biases, damped where sums over many nodes would make logits explode: |logit| is O(1..10).
PolicyWeights RandomPolicyWeights(const PolicyShape& shape, Rng& rng);

// For each parameter in turn, whether only pooling uses it: those of F and G, and the classifier's columns for the
// three sets.
std::vector<bool> IsOfPooling(const PolicyShape& shape);

}  // namespace emplace
