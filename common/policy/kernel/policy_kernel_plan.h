// What the kernel's paths read and write: plain structs of raw pointers. A path is compiled for a processor that the
// rest of the program may not be running on, so its file must not instantiate anything shared, such as std::vector.
#pragma once

#include <cstdint>

namespace emplace {

// Floats that every row is padded to a multiple of, with zeros: one AVX register.
inline constexpr int32_t kLanes = 8;
constexpr int32_t PadToLanes(int32_t width) { return (width + kLanes - 1) / kLanes * kLanes; }

// y = W x + b, transposed so that one input multiplies a contiguous row of outputs.
struct PackedLayer {
  const float* weight = nullptr;  // [in, padded_out]
  const float* bias = nullptr;    // [padded_out]
  int32_t in = 0;
  int32_t padded_out = 0;
};

// y = relu(output(relu(hidden(x)))): f, g, F and G of the design.
struct PackedMlp {
  PackedLayer hidden;
  PackedLayer output;
};

struct PackedDirection {
  PackedMlp f;
  PackedMlp g;
};

struct PackedPool {
  PackedMlp inner;  // F
  PackedMlp outer;  // G
};

struct PackedPolicy {
  int32_t num_devices = 0;
  bool memory_feature = false;
  int32_t message_rounds = 0;
  int32_t width = 0;          // m
  PackedLayer self[3];
  PackedDirection forward;    // Messages from parents.
  PackedDirection backward;   // Messages from children.
  PackedPool ancestors;
  PackedPool descendants;
  PackedPool neither;
  PackedLayer classifier[3];

  // Row strides, in floats; fields, because even a small inline function would be one that the paths share.
  int32_t feature_stride = 0;
  int32_t width_stride = 0;
  // Forward at 0, backward at `width`; the backward half is stored as whole registers.
  int32_t embedding_stride = 0;
};

// Rows of a Csr.
struct NeighbourView {
  const int32_t* begin = nullptr;  // [n + 1]
  const int32_t* items = nullptr;
};

// A PolicyState as pointers; shapes as in PolicyGraph.
struct StateView {
  int32_t num_nodes = 0;  // n
  int32_t step = 0;
  const float* cost = nullptr;
  const float* bytes = nullptr;
  const float* memory = nullptr;
  const uint8_t* placement = nullptr;
  NeighbourView parents;
  NeighbourView children;
  const uint64_t* ancestors = nullptr;    // [words] the current node's row
  const uint64_t* descendants = nullptr;  // [words]
};

// Working memory for one state of at most `n` nodes; rows are 32-byte aligned.
struct KernelScratch {
  float* features = nullptr;    // [n, feature_stride]
  float* self = nullptr;        // [n, width_stride]
  float* x = nullptr;           // [n, width_stride]
  float* message = nullptr;     // [n, width_stride] relu(f(x))
  float* sum = nullptr;         // [n, width_stride] over a node's neighbours
  float* embedding = nullptr;   // [n, embedding_stride]
  float* inner = nullptr;       // [n, padded 2m] relu(F(e)), each with the F of its own set
  float* pooled = nullptr;      // [D + kLanes] what the classifier reads
  float* hidden = nullptr;      // [tile * widest padded hidden layer]
  float* logits = nullptr;      // [padded num_devices]
  int32_t* senders = nullptr;   // [n] node lists
  int32_t* receivers = nullptr; // [n]
};

// Nodes that a path works on at a time; as many independent sums as hide the latency of a fused multiply-add.
inline constexpr int32_t kTile = 8;

// Writes scratch.logits of one state. The result depends on that state alone, to the bit.
using ForwardFunction = void (*)(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch);
void ForwardPortable(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch);
// REQUIRES: the processor has AVX2 and FMA.
void ForwardAvx2(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch);

}  // namespace emplace
