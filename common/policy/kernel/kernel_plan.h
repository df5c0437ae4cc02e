// What the kernel's paths read and write: plain structs of raw pointers. A path is compiled for a processor that the
// rest of the program may not be running on, so its file must not instantiate anything shared, such as std::vector.
#pragma once

#include <cstdint>

#include "common/policy/simd/network_parts.h"

namespace emplace {

// Floats that every row is padded to a multiple of, with zeros: one AVX register.
inline constexpr int32_t kRowLanes = 8;
constexpr int32_t PadRow(int32_t width) { return (width + kRowLanes - 1) / kRowLanes * kRowLanes; }

// Rows that a layer takes at a time: as many independent sums as hide the latency of a fused multiply-add.
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
  int32_t num_devices = 0;
  bool memory_feature = false;
  int32_t rounds = 0;  // k
  int32_t width = 0;   // m
  bool pooling = true;
  NetworkLayers<PackedLayer> layers;

  // Strides of rows, in floats; fields, because even a small inline function would be one that the paths share.
  int32_t feature_stride = 0;
  int32_t width_stride = 0;
  // [forward m, backward m] of a node; the backward half is stored as whole registers, over the padding of the other.
  int32_t embedding_stride = 0;
  int32_t inner_stride = 0;  // padded 2m
  int32_t pooled_stride = 0;
};

// A PolicyState as pointers; shapes as in PolicyGraph.
struct StateView {
  int32_t num_nodes = 0;  // n
  int32_t step = 0;
  const float* cost = nullptr;
  const float* bytes = nullptr;
  const float* memory = nullptr;
  const uint8_t* placement = nullptr;
  NeighbourView from[2];                  // Whom a node hears in each direction; the other one lists who hears it.
  const uint64_t* ancestors = nullptr;    // [words] the current node's row
  const uint64_t* descendants = nullptr;  // [words]
};

// What stays between the steps of an episode: all that one node says or is, by round, so that a step computes again
// only what the nodes that changed can reach.
struct EpisodeMemory {
  bool valid = false;  // Holds the state below; else everything is computed.
  int32_t step = 0;
  uint8_t* placement = nullptr;  // [n]
  float* self = nullptr;         // [n, width_stride]
  float* message = nullptr;      // [2, k, n, width_stride] relu(f(x)) of each round
  float* x = nullptr;            // [2, n, width_stride] after the last round
  float* inner = nullptr;        // [n, inner_stride] relu(F(e)), with the F of the set the node is in
  uint8_t* inner_set = nullptr;  // [n] that set; kNoSet: stale, or none
};
inline constexpr uint8_t kNoSet = 3;

// Working memory for one state of at most `n` nodes, each array of rows padded to whole tiles; rows are 64-byte
// aligned.
struct KernelScratch {
  float* features = nullptr;     // [kTile, feature_stride]
  float* x = nullptr;            // [n, width_stride] of the nodes in `order`, after the round at hand
  float* self = nullptr;         // [n, width_stride] of the nodes in `order`
  float* sum = nullptr;          // [kTile, width_stride] over their neighbours
  float* embedding = nullptr;    // [kTile, embedding_stride]
  float* set_sum = nullptr;      // [inner_stride]
  float* hidden[2] = {};         // [kTile, widest]
  int32_t* order = nullptr;      // [n + 1] nodes that differ, those that differ in an earlier round first
  int32_t* level_end = nullptr;  // [k + 1] how many of them differ after each round
  int32_t* members = nullptr;    // [3, n] nodes of each set
  int32_t* stale = nullptr;      // [n] those of a set whose F is to be computed
  uint8_t* seen = nullptr;       // [n] 0 between uses
};

struct KernelFunctions {
  // Writes the state's row of what the classifier reads, [pooled_stride], and brings the memory up to the state. The
  // result depends on the state alone, to the bit, whatever the memory held.
  void (*pooled)(const PackedPolicy& policy, const StateView& state, EpisodeMemory& memory,
                 const KernelScratch& scratch, float* row);
  // rows: [count, pooled_stride]; logits: [count, padded devices]. hidden: scratch [count, 2D padded], [count, D
  // padded].
  void (*classify)(const PackedPolicy& policy, const float* rows, int32_t count, float* hidden0, float* hidden1,
                   float* logits);
};
KernelFunctions KernelFunctionsPortable();
// REQUIRES, to call what they return: the processor runs the path.
KernelFunctions KernelFunctionsAvx2();
KernelFunctions KernelFunctionsAvx512();

}  // namespace emplace
