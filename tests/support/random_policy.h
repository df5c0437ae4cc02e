// Random graphs, states and weights for tests of the policy. The given generator decides everything.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"

namespace emplace {

// A graph whose nodes have up to `max_parents` distinct parents each, among the nodes before them. About a third of the
// nodes may not use some devices.
PlacetoGraph RandomPlacetoGraph(int32_t num_nodes, int32_t num_devices, int32_t max_parents, Rng& rng);

// A state together with the placement that it points to.
struct OwnedState {
  const PlacetoGraph* graph = nullptr;
  std::vector<uint8_t> placement;
  int32_t step = 0;
  std::vector<float> start_times;  // Drawn, not simulated.

  PlacetoState view() const { return {graph, placement.data(), step, start_times.data()}; }
};
// Views of the states. REQUIRES: the states outlive the views.
std::vector<PlacetoState> Views(const std::vector<OwnedState>& states);
OwnedState RandomPlacetoState(const PlacetoGraph& graph, Rng& rng);

// A shape with 1..8 devices, message width 0, 5 or 16, 0..8 message rounds, with or without the memory feature, pooling
// and start times.
PlacetoShape RandomPlacetoShape(Rng& rng);
// Glorot weights with random biases. They are smaller where sums over many nodes would make logits too large: |logit|
// is about 1..10.
PolicyWeights RandomPlacetoWeights(const PlacetoShape& shape, Rng& rng);

// For each parameter, whether only pooling uses it: the parameters of F and G, and the classifier's columns for the
// three sets.
std::vector<bool> IsOfPooling(const PlacetoShape& shape);

}  // namespace emplace
