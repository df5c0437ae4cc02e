// The data that is copied to the device: all graphs once, and for each update the actors' episodes and the list of
// states to learn from. The device derives features and placements from these.
//
// The graphs are one block of bytes, and so is a batch. Views of a block are structs of plain pointers, into host or
// device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {

// Hands out aligned pieces of one block of memory. With a null base it only counts the bytes.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}

  template <typename T>
  T* Take(size_t count) {
    T* const piece = reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(base_) + used_);
    used_ = (used_ + count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return piece;
  }
  size_t used() const { return used_; }  // Bytes.

 private:
  static constexpr size_t kAlignment = 256;  // Bytes; the alignment of cudaMalloc.
  std::byte* base_;
  size_t used_ = 0;
};

// The positions of a graph's parts in the concatenated arrays.
struct GraphEntry {
  int32_t num_nodes;
  int32_t words;   // Number of 64-bit words of a bit set
  int32_t node;    // Index into cost, bytes and memory; times num_devices into `allowed`
  int32_t begin;   // Index into parent_begin and child_begin, n + 1 entries
  int32_t parent;  // Index into parents
  int32_t child;   // Index into children
  int32_t bits;    // Index into ancestors and descendants, n rows of `words`
};

struct GraphsView {
  GraphEntry* entries;  // [graphs]
  float* cost;          // [nodes of all graphs]; bytes and memory have the same size
  float* bytes;
  float* memory;
  uint8_t* allowed;       // [nodes * num_devices]
  int32_t* parent_begin;  // Indices into the graph's own items
  int32_t* parents;
  int32_t* child_begin;
  int32_t* children;
  uint64_t* ancestors;
  uint64_t* descendants;
};

class CompactGraphs {
 public:
  // REQUIRES: at least one graph, each with at least one node and `num_devices` devices.
  // Throws RunFailed when together they are too large for 32-bit offsets.
  CompactGraphs(std::span<const PlacetoGraph* const> graphs, int32_t num_devices);

  size_t size() const { return num_nodes_.size(); }
  int32_t num_nodes(size_t graph) const { return num_nodes_[graph]; }
  int32_t max_nodes() const { return max_nodes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // A view of a copy of bytes() at `base`.
  GraphsView View(std::byte* base) const;

 private:
  GraphsView Carve(Carver& carver) const;

  int32_t num_devices_;
  int32_t max_nodes_ = 0;
  size_t total_nodes_ = 0;
  size_t total_edges_ = 0;
  size_t total_words_ = 0;
  std::vector<int32_t> num_nodes_;
  std::vector<std::byte> bytes_;
};

// The settings of one update.
struct UpdateScalars {
  double learning_rate = 0;
  double gradient_clip = 0;  // Global norm
  float entropy_weight = 0;
  float importance_clip = 0;
  int32_t num_states = 0;
  int32_t num_small = 0;  // States whose graph fits in shared memory; they are the first in `order`.
};

struct EpisodeEntry {
  int32_t graph;
  int32_t step;  // Index of its first step in the arrays of steps
};

// A state to learn from. The last three fields are for the loss alone, and may be zero for a forward pass.
struct StateEntry {
  int32_t episode = 0;
  int32_t step = 0;  // The current node
  float advantage = 0;
  float behaviour_log_prob = 0;  // Of the chosen action
  float lag = 0;                 // 1 where an older version chose the action, else 0
};

// An episode of a graph of n nodes.
struct EpisodeSource {
  int32_t graph = 0;
  std::span<const uint8_t> start_placement;  // [n]
  std::span<const uint8_t> actions;          // [n]
};

// Upper limits of a batch's sizes. Memory of a capacity serves all batches up to it.
struct BatchCapacity {
  int32_t states = 0;
  int32_t episodes = 0;
  int32_t steps = 0;  // Steps of all episodes together

  bool Holds(const BatchCapacity& other) const {
    return states >= other.states && episodes >= other.episodes && steps >= other.steps;
  }
};

struct BatchView {
  UpdateScalars* scalars;
  EpisodeEntry* episodes;
  StateEntry* states;  // [S]
  int32_t* order;      // [S] states in the order of the blocks' work: small graphs first, then by falling size
  uint8_t* start;      // [steps] At step t of its episode node v is on actions[v] when v < t, else on start[v].
  uint8_t* actions;
};

// A view of memory for a batch of this capacity at `base`; the memory has BatchBytes(capacity) bytes.
BatchView ViewBatch(const BatchCapacity& capacity, std::byte* base);
size_t BatchBytes(const BatchCapacity& capacity);

// The smallest capacity for these episodes and states.
BatchCapacity CapacityFor(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes, size_t num_states);

// Writes a batch to host memory, with num_states and num_small of `scalars` filled in. Graphs of up to `small_nodes`
// nodes count as small. REQUIRES: the batch fits `view`, and every state's step lies within its episode.
void WriteBatch(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes,
                std::span<const StateEntry> states, const UpdateScalars& scalars, int32_t small_nodes,
                const BatchView& view);

}  // namespace emplace::gpu
