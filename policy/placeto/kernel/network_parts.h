// The layers of a policy network, for a layer type that each kernel defines, and a graph's neighbours. These are plain
// structs, because files that are compiled for one processor include them.
#pragma once

#include <cstdint>

namespace emplace {

// y = relu(output(relu(hidden(x)))): the shape of f, g, F and G.
template <typename Layer>
struct MlpLayers {
  Layer hidden;
  Layer output;
};

template <typename Layer>
struct DirectionLayers {
  MlpLayers<Layer> f;
  MlpLayers<Layer> g;
};

template <typename Layer>
struct PoolLayers {
  MlpLayers<Layer> inner;  // F
  MlpLayers<Layer> outer;  // G
};

template <typename Layer>
struct NetworkLayers {
  Layer self[3];
  DirectionLayers<Layer> directions[2];  // Messages from parents; messages from children.
  PoolLayers<Layer> pools[3];            // Ancestors, descendants, neither.
  Layer classifier[3];
};

// The rows of a Csr as pointers.
struct NeighbourView {
  const int32_t* begin = nullptr;  // [n + 1]
  const int32_t* items = nullptr;
};

}  // namespace emplace
