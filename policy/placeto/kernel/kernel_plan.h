// The data of the forward kernel's paths: plain structs of raw pointers. A path is compiled for a processor that the
// program may not be running on, so its file must not instantiate shared code such as std::vector.
#pragma once

#include <cstdint>

#include "policy/placeto/kernel/network_parts.h"
#include "policy/placeto/placeto_features.h"

namespace emplace {

// Every row is padded with zeros to a multiple of so many floats: one AVX register.
inline constexpr int32_t kRowLanes = 8;
constexpr int32_t PadRow(int32_t width) { return (width + kRowLanes - 1) / kRowLanes * kRowLanes; }

// Rows that a layer works on at the same time: enough independent sums to hide the latency of a multiply-add.
inline constexpr int32_t kTile = 8;
constexpr int32_t PadTile(int32_t rows) { return (rows + kTile - 1) / kTile * kTile; }

// y = W x + b, transposed so that one input multiplies a contiguous row of outputs.
struct PackedLayer {
  const float* weight = nullptr;  // [in, padded_out]
  const float* bias = nullptr;    // [padded_out]
  int32_t in = 0;
  int32_t padded_out = 0;
};

using PackedMlp = MlpLayers<PackedLayer>;
using PackedDirection = DirectionLayers<PackedLayer>;
using PackedPool = PoolLayers<PackedLayer>;

struct PackedPolicy {
  NodeFeatures features;
  int32_t rounds = 0;  // k
  int32_t width = 0;   // m
  bool pooling = true;
  NetworkLayers<PackedLayer> layers;

  // Strides of rows, in floats. They are fields, because the paths would share even a small inline function.
  int32_t feature_stride = 0;
  int32_t width_stride = 0;
  // The stride of a node's embedding [forward m, backward m]; the backward half covers the padding of the forward half.
  int32_t embedding_stride = 0;
  int32_t inner_stride = 0;  // padded 2m
  int32_t pooled_stride = 0;
};

// A PlacetoState as pointers; shapes as in PlacetoGraph.
struct StateView {
  int32_t num_nodes = 0;  // n
  int32_t step = 0;
  const float* cost = nullptr;
  const float* bytes = nullptr;
  const float* memory = nullptr;
  const uint8_t* placement = nullptr;
  const float* start_times = nullptr;  // Null where they are no feature.
  NeighbourView
      from[2];  // Neighbours that a node hears in each direction; the other direction lists those that hear it.
  const uint64_t* ancestors = nullptr;    // [words] the current node's row
  const uint64_t* descendants = nullptr;  // [words]
};

// The results that are kept from one step of an episode to the next, for each node and round, so that a step computes
// only what the changed nodes can reach.
struct EpisodeMemory {
  bool valid = false;  // false: the memory holds nothing, and everything is computed.
  int32_t step = 0;
  uint8_t* placement = nullptr;  // [n]
  float* self = nullptr;         // [n, width_stride]
  float* message = nullptr;      // [2, k, n, width_stride] relu(f(x)) of each round
  float* x = nullptr;            // [2, n, width_stride] after the last round
  float* inner = nullptr;        // [n, inner_stride] relu(F(e)), with the F of the set the node is in
  uint8_t* inner_set = nullptr;  // [n] that set; kNoSet: the row of `inner` is not valid
};
inline constexpr uint8_t kNoSet = 3;

// Working memory for one state of at most `n` nodes. Each array of rows is padded to whole tiles, and its rows are
// aligned to 64 bytes.
struct KernelScratch {
  float* features = nullptr;     // [kTile, feature_stride]
  float* x = nullptr;            // [n, width_stride] of the nodes in `order`, after the round at hand
  float* self = nullptr;         // [n, width_stride] of the nodes in `order`
  float* sum = nullptr;          // [kTile, width_stride] over their neighbours
  float* embedding = nullptr;    // [kTile, embedding_stride]
  float* set_sum = nullptr;      // [inner_stride]
  float* hidden[2] = {};         // [kTile, widest]
  int32_t* order = nullptr;      // [n + 1] nodes that differ, in the order of the round from which they differ
  int32_t* level_end = nullptr;  // [k + 1] how many nodes differ after each round
  int32_t* members = nullptr;    // [3, n] nodes of each set
  int32_t* stale = nullptr;      // [n] nodes of a set whose F has to be computed
  uint8_t* seen = nullptr;       // [n] 0 between uses
};

struct KernelFunctions {
  // Writes the classifier's input row for the state, [pooled_stride], and updates the memory to the state. The row's
  // bits depend on the state alone, whatever the memory held.
  void (*pooled)(const PackedPolicy& policy, const StateView& state, EpisodeMemory& memory,
                 const KernelScratch& scratch, float* row);
  // Writes logits [count, padded devices] for rows [count, pooled_stride]. hidden0 [count, padded 2D] and hidden1
  // [count, padded D] are scratch memory.
  void (*classify)(const PackedPolicy& policy, const float* rows, int32_t count, float* hidden0, float* hidden1,
                   float* logits);
};
KernelFunctions KernelFunctionsPortable();
// These two may be called anywhere, but the functions in their results only where the processor runs the path.
KernelFunctions KernelFunctionsAvx2();
KernelFunctions KernelFunctionsAvx512();

}  // namespace emplace
