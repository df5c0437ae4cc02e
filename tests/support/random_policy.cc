#include "tests/support/random_policy.h"

#include <algorithm>
#include <set>
#include <string>

#include "policy/placeto/placeto_shape.h"
#include "simulator/task/group_graph.h"

namespace emplace {

PlacetoGraph RandomPlacetoGraph(int32_t num_nodes, int32_t num_devices, int32_t max_parents, Rng& rng) {
  PlacetoGraph graph;
  graph.num_nodes = num_nodes;
  graph.num_devices = num_devices;
  for (int32_t node = 0; node < num_nodes; ++node) {
    graph.cost.push_back(static_cast<float>(rng.Uniform()));
    graph.bytes.push_back(static_cast<float>(rng.Uniform()));
    graph.memory.push_back(static_cast<float>(rng.Uniform()));
    std::set<int32_t> parents;
    const int64_t count = node == 0 ? 0 : rng.UniformInt(0, max_parents);
    for (int64_t i = 0; i < count; ++i) parents.insert(static_cast<int32_t>(rng.UniformInt(0, node - 1)));
    graph.parents.items.insert(graph.parents.items.end(), parents.begin(), parents.end());
    graph.parents.begin.push_back(static_cast<int32_t>(graph.parents.items.size()));
    const bool restricted = rng.Uniform() < 0.3;
    const int64_t kept = rng.UniformInt(0, num_devices - 1);
    for (int32_t device = 0; device < num_devices; ++device) {
      graph.allowed.push_back(!restricted || device == kept || rng.Uniform() < 0.5 ? 1 : 0);
    }
  }
  GroupGraph relatives;
  relatives.num_groups = num_nodes;
  relatives.parents = graph.parents;
  relatives.DeriveChildren();
  graph.children = relatives.children;
  graph.DeriveClosure();
  return graph;
}

std::vector<PlacetoState> Views(const std::vector<OwnedState>& states) {
  std::vector<PlacetoState> views;
  views.reserve(states.size());
  for (const OwnedState& state : states) views.push_back(state.view());
  return views;
}

OwnedState RandomPlacetoState(const PlacetoGraph& graph, Rng& rng) {
  OwnedState state{&graph, {}, static_cast<int32_t>(rng.UniformInt(0, graph.num_nodes - 1)), {}};
  for (int32_t node = 0; node < graph.num_nodes; ++node) {
    state.placement.push_back(static_cast<uint8_t>(rng.UniformInt(0, graph.num_devices - 1)));
  }
  for (int32_t node = 0; node < graph.num_nodes; ++node) {
    state.start_times.push_back(static_cast<float>(rng.Uniform()));
  }
  return state;
}

PlacetoShape RandomPlacetoShape(Rng& rng) {
  constexpr int32_t kWidths[] = {0, 5, 16};
  PlacetoShape shape;
  shape.num_devices = static_cast<int32_t>(rng.UniformInt(1, 8));
  shape.memory_feature = rng.Uniform() < 0.5;
  shape.message_rounds = static_cast<int32_t>(rng.UniformInt(0, 8));
  shape.message_width = kWidths[rng.UniformInt(0, 2)];
  shape.pooling = rng.Uniform() < 0.7;
  shape.start_times = rng.Uniform() < 0.3;
  return shape;
}

PolicyWeights RandomPlacetoWeights(const PlacetoShape& shape, Rng& rng) {
  PolicyWeights weights = InitialPlaceto(shape, rng.Fork("weights", rng.Next()));
  weights.version = rng.Next();
  size_t next = 0;
  for (const LayerSpec& layer : PlacetoLayers(shape)) {
    // A pool adds up to n embeddings, and a node one message a neighbour in every round; without damping, activations
    // reach the hundreds and float32's own rounding, not the order of a kernel's sums, would be what a test sees.
    const bool pools = layer.name.ends_with(".G.0");
    const bool passes_messages = layer.name.ends_with(".g.0");
    const float scale = pools ? 0.1F : passes_messages ? 0.3F : 1.4F;
    const size_t count = static_cast<size_t>(layer.in) * static_cast<size_t>(layer.out);
    for (size_t i = 0; i < count; ++i) weights.values[next++] *= scale;
    for (int32_t i = 0; i < layer.out; ++i) weights.values[next++] = static_cast<float>(rng.Uniform(-0.3, 0.5));
  }
  return weights;
}

std::vector<bool> IsOfPooling(const PlacetoShape& shape) {
  std::vector<bool> pooling;
  for (const LayerSpec& layer : PlacetoLayers(shape)) {
    const bool pool = layer.name.find(".F.") != std::string::npos || layer.name.find(".G.") != std::string::npos;
    const int32_t columns = pool ? layer.in : layer.name == "classifier.0" ? 3 * shape.embedding_width() : 0;
    for (int32_t out = 0; out < layer.out; ++out) {
      for (int32_t in = 0; in < layer.in; ++in) pooling.push_back(in < columns);
    }
    pooling.insert(pooling.end(), static_cast<size_t>(layer.out), pool);
  }
  return pooling;
}

}  // namespace emplace
