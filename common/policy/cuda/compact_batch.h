// What goes to the device: all graphs once, and for each update the episodes as they came from the actors and the list
// of states to learn from. Features and placements are derived there; nothing is expanded on the host.
//
// Both are one block of bytes each, with views (plain pointers, for host or device memory alike) into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/policy/policy_graph.h"
#include "common/policy/policy_shape.h"

namespace emplace::gpu {

// Hands out aligned pieces of one block of memory, or, over a null base, only counts.
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
  static constexpr size_t kAlignment = 256;  // As cudaMalloc gives.
  std::byte* base_;
  size_t used_ = 0;
};

// Where a graph's part of the concatenated arrays starts.
struct GraphEntry {
  int32_t num_nodes;
  int32_t words;   // 64-bit words of a bit set
  int32_t node;    // In cost, bytes and memory; times num_devices in `allowed`
  int32_t begin;   // In parent_begin and child_begin, n + 1 entries
  int32_t parent;  // In parents
  int32_t child;   // In children
  int32_t bits;    // In ancestors and descendants, n rows of `words`
};

struct GraphsView {
  GraphEntry* entries;  // [graphs]
  float* cost;          // [nodes of all graphs]; likewise:
  float* bytes;
  float* memory;
  uint8_t* allowed;       // [nodes * num_devices]
  int32_t* parent_begin;  // Within the graph's own items
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
  CompactGraphs(std::span<const PolicyGraph* const> graphs, int32_t num_devices);

  size_t size() const { return num_nodes_.size(); }
  int32_t num_nodes(size_t graph) const { return num_nodes_[graph]; }
  int32_t max_nodes() const { return max_nodes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // Into a copy of bytes() at `base`.
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

// What differs from update to update besides the states.
struct UpdateScalars {
  double learning_rate = 0;
  double gradient_clip = 0;  // Global norm
  float entropy_weight = 0;
  float importance_clip = 0;
  int32_t num_states = 0;
  int32_t num_small = 0;  // The first of `order`: states whose graph fits in shared memory.
};

struct EpisodeEntry {
  int32_t graph;
  int32_t step;  // Its first step in the arrays of steps
};

// A state to learn from. What only the loss needs may stay zero where the policy is only evaluated.
struct StateEntry {
  int32_t episode = 0;
  int32_t step = 0;  // The current node
  float advantage = 0;
  float behaviour_log_prob = 0;  // Of the action
  float lag = 0;                 // 1 where an older version chose the action, else 0
};

// An episode of a graph of n nodes.
struct EpisodeSource {
  int32_t graph = 0;
  std::span<const uint8_t> start_placement;  // [n]
  std::span<const uint8_t> actions;          // [n]
};

// Sizes that a batch may not exceed; one place in memory serves all batches up to them.
struct BatchCapacity {
  int32_t states = 0;
  int32_t episodes = 0;
  int32_t steps = 0;  // Of all episodes together

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

// Into `capacity`'s worth of memory at `base`; its size in bytes is BatchBytes.
BatchView ViewBatch(const BatchCapacity& capacity, std::byte* base);
size_t BatchBytes(const BatchCapacity& capacity);

// The capacity that just holds these.
BatchCapacity CapacityFor(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes, size_t num_states);

// Writes a batch to host memory. `scalars`: num_states and num_small are filled in; graphs of up to `small_nodes` nodes
// count as small. REQUIRES: the capacity of `view` holds it; every state's step lies within its episode.
void WriteBatch(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes,
                std::span<const StateEntry> states, const UpdateScalars& scalars, int32_t small_nodes,
                const BatchView& view);

}  // namespace emplace::gpu
