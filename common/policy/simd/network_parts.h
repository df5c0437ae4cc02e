// The layers of a policy network as the kernels hold them, over a layer type of the kernel's own, and the rows of a
// graph. Plain structs: files that are compiled for one processor include this.
#pragma once

#include <cstdint>

namespace emplace {

// y = relu(output(relu(hidden(x)))): f, g, F and G of the design.
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
  DirectionLayers<Layer> directions[2];  // Messages from parents, from children.
  PoolLayers<Layer> pools[3];            // Ancestors, descendants, neither.
  Layer classifier[3];
};

// Rows of a Csr.
struct NeighbourView {
  const int32_t* begin = nullptr;  // [n + 1]
  const int32_t* items = nullptr;
};

}  // namespace emplace
