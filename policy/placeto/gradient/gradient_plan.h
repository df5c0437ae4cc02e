// The data of the gradient kernel's paths: plain structs of raw pointers. A path is compiled for a processor that the
// program may not be running on, so its file must not instantiate shared code such as std::vector.
//
// L states of one graph, a "tile", go through the network side by side. L is the path's number of lanes, and a value of
// a node is L floats, one for each state. A row is [width][L]. So every lane has work whatever the widths are, and a
// sum over neighbours is a sum of rows. Weights are read in place, from the flat vector of PolicyWeights.
#pragma once

#include <cstdint>

#include "policy/placeto/kernel/network_parts.h"
#include "policy/placeto/placeto_features.h"

namespace emplace {

inline constexpr int32_t kMaxLanes = 16;
// Rows that a layer works on at the same time.
inline constexpr int32_t kPanel = 8;

// y = W x + b, and the sums of its gradient.
struct GradientLayer {
  const float* weight = nullptr;  // [out, in]
  const float* bias = nullptr;    // [out]
  int32_t in = 0;
  int32_t out = 0;
  // For a layer with many rows in a state: [out, in, L], a sum for each lane. For a head layer, which has one row in a
  // state: [out, padded in], summed over all lanes.
  float* weight_sum = nullptr;
  float* bias_sum = nullptr;  // [out, L]
};

using GradientMlp = MlpLayers<GradientLayer>;

struct GradientPolicy {
  NodeFeatures features;
  int32_t num_features = 0;  // F
  int32_t rounds = 0;        // k
  int32_t width = 0;         // m
  bool pooling = true;
  NetworkLayers<GradientLayer> layers;  // G of the pools and the classifier are head layers.
};

// L states of one graph; shapes as in PlacetoGraph.
struct GradientTile {
  int32_t num_nodes = 0;  // n
  const float* cost = nullptr;
  const float* bytes = nullptr;
  const float* memory = nullptr;
  NeighbourView
      from[2];  // Neighbours that a node hears in each direction; the other direction lists those that hear it.
  const int32_t* receivers[2] = {};  // Nodes that hear at least one neighbour, ascending.
  int32_t num_receivers[2] = {};
  const uint8_t* placement[kMaxLanes] = {};
  const float* start_times[kMaxLanes] = {};  // Null where they are no feature.
  int32_t step[kMaxLanes] = {};
  const uint64_t* ancestors[kMaxLanes] = {};    // [words] of the current node
  const uint64_t* descendants[kMaxLanes] = {};  // [words]
};

// Working memory of one tile. All arrays are of rows; [n, m] means n rows of width m, n * m * L floats.
struct GradientScratch {
  float* features = nullptr;  // [n, F]
  float* self = nullptr;      // [n, m]; x of round 0
  // [2, k - 1, n, m] x after rounds 1 to k - 1 of each direction. Forward alone needs only one of them.
  float* x = nullptr;
  float* embedding = nullptr;  // [n, 2m] x after the last round, both directions
  float* message = nullptr;    // [n, m] relu(f(x))
  float* hidden = nullptr;     // [n, m] of f
  float* mask = nullptr;       // [3, n, 1] 1 where the node is in the state's set
  int32_t* members = nullptr;  // [3, n] nodes that are in the set of any state
  int32_t num_members[3] = {};
  float* set_sum = nullptr;          // [3, 2m]
  float* outer_hidden = nullptr;     // [3, 2m] of G
  float* pooled = nullptr;           // [D]
  float* classifier_hidden[2] = {};  // [2D], [D]
  float* logits = nullptr;           // [devices]
  // Gradients of the loss with respect to the arrays of the same name.
  float* logit_delta = nullptr;
  float* classifier_delta[2] = {};
  float* pooled_delta = nullptr;
  float* outer_delta = nullptr;      // [2m] of G's hidden layer
  float* set_delta = nullptr;        // [3, 2m]
  float* embedding_delta = nullptr;  // [n, 2m]
  float* delta = nullptr;            // [n, m] of x
  float* sum_delta = nullptr;        // [n, m] of the sum over neighbours
  float* self_delta = nullptr;       // [n, m]
  // Scratch memory of a panel, [kPanel, widest] each. The rows that pad a panel read `zeros` and write to `trash`.
  float* panel[4] = {};
  float* zeros = nullptr;       // [1, widest]
  float* trash = nullptr;       // [1, widest]
  float* transposed = nullptr;  // [L, padded widest input of a head layer], of floats
};

struct GradientPath {
  int32_t lanes;  // L
  // Writes scratch.logits.
  void (*forward)(const GradientPolicy&, const GradientTile&, GradientScratch&);
  // Does the same, then adds the gradient for scratch.logit_delta to the layers' sums.
  void (*backward)(const GradientPolicy&, const GradientTile&, GradientScratch&);
};
GradientPath GradientPathPortable();
// These two may be called anywhere, but the functions in their results only where the processor runs the path.
GradientPath GradientPathAvx2();
GradientPath GradientPathAvx512();

}  // namespace emplace
