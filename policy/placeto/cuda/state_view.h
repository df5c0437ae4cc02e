// One state of a batch as the kernels see it: pointers into the compact form.
#pragma once

#include "policy/placeto/cuda/compact_batch.h"
#include "policy/placeto/cuda/tiles.h"

namespace emplace::gpu {

// The neighbours that each node hears, or those that hear it: the rows of a Csr.
struct Neighbours {
  const int32_t* begin;  // [n + 1]
  const int32_t* items;

  EMPLACE_DEVICE bool Any(int32_t node) const { return begin[node + 1] > begin[node]; }
};

struct StateView {
  int32_t num_nodes;
  int32_t step;
  int32_t words;
  int32_t num_devices;
  const float* cost;
  const float* bytes;
  const float* memory;
  const uint8_t* allowed;  // [num_devices] of the current node
  const uint8_t* start;
  const uint8_t* actions;
  Neighbours parents;
  Neighbours children;
  const uint64_t* ancestors;  // [words] of the current node
  const uint64_t* descendants;

  EMPLACE_DEVICE int32_t Device(int32_t node) const { return node < step ? actions[node] : start[node]; }
};

EMPLACE_DEVICE StateView ViewState(const GraphsView& graphs, const BatchView& batch, int32_t num_devices,
                                   int32_t state) {
  const StateEntry entry = batch.states[state];
  const EpisodeEntry episode = batch.episodes[entry.episode];
  const GraphEntry graph = graphs.entries[episode.graph];
  const int32_t row = graph.bits + entry.step * graph.words;
  StateView view;
  view.num_nodes = graph.num_nodes;
  view.step = entry.step;
  view.words = graph.words;
  view.num_devices = num_devices;
  view.cost = graphs.cost + graph.node;
  view.bytes = graphs.bytes + graph.node;
  view.memory = graphs.memory + graph.node;
  view.allowed = graphs.allowed + (graph.node + entry.step) * num_devices;
  view.start = batch.start + episode.step;
  view.actions = batch.actions + episode.step;
  view.parents = {graphs.parent_begin + graph.begin, graphs.parents + graph.parent};
  view.children = {graphs.child_begin + graph.begin, graphs.children + graph.child};
  view.ancestors = graphs.ancestors + row;
  view.descendants = graphs.descendants + row;
  return view;
}

// The sum of four columns over a node's neighbours.
EMPLACE_DEVICE Four SumNeighbours(const Neighbours& neighbours, int32_t node, const Rows& rows, int32_t first) {
  Four sum = Zeros();
  for (int32_t i = neighbours.begin[node]; i < neighbours.begin[node + 1]; ++i) {
    sum = Sum(sum, Load(rows[neighbours.items[i]] + first));
  }
  return sum;
}

}  // namespace emplace::gpu
