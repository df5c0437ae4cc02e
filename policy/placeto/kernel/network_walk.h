// Walks the layers of a network in the order of PlacetoLayers.
#pragma once

namespace emplace {

// Calls layer(one, head) for every layer of a NetworkLayers. head: the layer runs once for a state (G and the
// classifier), not once for every node.
template <typename Network, typename Function>
void ForEachLayer(Network& network, const Function& layer) {
  const auto mlp = [&](auto& two, bool head) {
    layer(two.hidden, head);
    layer(two.output, head);
  };
  for (auto& one : network.self) layer(one, false);
  for (auto& direction : network.directions) {
    mlp(direction.f, false);
    mlp(direction.g, false);
  }
  for (auto& pool : network.pools) {
    mlp(pool.inner, false);
    mlp(pool.outer, true);
  }
  for (auto& one : network.classifier) layer(one, true);
}

}  // namespace emplace
