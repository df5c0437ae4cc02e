// The forward kernel's algorithm, over the path's `Vec` and `NarrowVec` (8 floats). Only kernel_<path>.cc files include
// it. All of it is in the unnamed namespace, because code compiled for one processor must never be merged with a
// function of the same name that older processors run.
//
// Between two steps of an episode the features of one or two nodes differ. After r rounds of messages only the nodes
// within r edges of these differ, so only their rows are computed; the others are remembered. The computed rows are
// contiguous, in the order in which the difference reaches the nodes, so those of a round come first.
#pragma once

#include <cstdint>

#include "policy/placeto/kernel/kernel_layers.h"
#include "policy/placeto/placeto_features.h"

namespace emplace {
namespace {

// Writes the nodes whose features differ from the remembered ones to the front of scratch.order. Returns their number.
inline int32_t ListChanged(const StateView& state, EpisodeMemory& memory, const KernelScratch& scratch) {
  int32_t count = 0;
  const int32_t low = memory.step < state.step ? memory.step : state.step;
  const int32_t high = memory.step < state.step ? state.step : memory.step;
  for (int32_t node = 0; node < state.num_nodes; ++node) {
    // The `visited` flags differ between the two steps, and the `current` flags at both ends.
    const bool flags = low != high && node >= low && node <= high;
    scratch.order[count] = node;
    count += static_cast<int32_t>(!memory.valid || flags || state.placement[node] != memory.placement[node]);
    memory.placement[node] = state.placement[node];
  }
  memory.step = state.step;
  memory.valid = true;
  return count;
}

inline void FillFeatures(const PackedPolicy& policy, const StateView& state, int32_t node, float* row) {
  const NodeFacts facts{state.cost[node], state.bytes[node], state.memory[node], state.placement[node], node,
                        state.step,       state.start_times};
  ForEachFeature(facts, policy.features, [row](int32_t feature, float value) { row[feature] = value; });
}

// Computes the self embedding of the first `count` nodes in scratch.order, tile by tile. Rows past the count are
// computed from whatever the memory holds, and dropped.
template <int kStride>
inline void SelfEmbed(const PackedPolicy& policy, const StateView& state, EpisodeMemory& memory,
                      const KernelScratch& scratch, int32_t count) {
  const int32_t stride = kStride > 0 ? kStride : policy.width_stride;
  for (int32_t first = 0; first < count; first += kTile) {
    const int32_t rows = count - first < kTile ? count - first : kTile;
    for (int32_t r = 0; r < rows; ++r) {
      FillFeatures(policy, state, scratch.order[first + r], scratch.features + r * policy.feature_stride);
    }
    float* const hidden = scratch.hidden[0];
    float* const second = scratch.hidden[1];
    LayerTileRows<true>(policy.layers.self[0], scratch.features, policy.feature_stride, hidden,
                        policy.layers.self[0].padded_out);
    LayerTileRows<true>(policy.layers.self[1], hidden, policy.layers.self[0].padded_out, second,
                        policy.layers.self[1].padded_out);
    LayerTileRows<false>(policy.layers.self[2], second, policy.layers.self[1].padded_out, hidden, stride);
    for (int32_t r = 0; r < rows; ++r)
      CopyRow<kStride>(hidden + r * stride, memory.self + scratch.order[first + r] * stride, stride);
  }
}

// Extends scratch.order, whose first `changed` nodes are given, by the nodes that their messages reach in each round.
inline void SpreadChanges(const PackedPolicy& policy, const StateView& state, NeighbourView to,
                          const KernelScratch& scratch, int32_t changed) {
  int32_t count = changed;
  int32_t begin = 0;
  for (int32_t i = 0; i < changed; ++i) scratch.seen[scratch.order[i]] = 1;
  scratch.level_end[0] = count;
  for (int32_t round = 1; round <= policy.rounds; ++round) {
    const int32_t end = count;
    for (; begin < end && count < state.num_nodes; ++begin) {
      const int32_t node = scratch.order[begin];
      for (int32_t i = to.begin[node]; i < to.begin[node + 1]; ++i) {
        const int32_t reached = to.items[i];
        scratch.order[count] = reached;
        count += static_cast<int32_t>(scratch.seen[reached] == 0);
        scratch.seen[reached] = 1;
        if (count == state.num_nodes) break;
      }
    }
    begin = end;
    scratch.level_end[round] = count;
  }
  for (int32_t i = 0; i < count; ++i) scratch.seen[scratch.order[i]] = 0;
}

// Runs the message rounds in one direction for the nodes that differ. The first `changed` of scratch.order are given.
template <int kStride>
inline void PassMessages(const PackedPolicy& policy, const StateView& state, int direction, EpisodeMemory& memory,
                         const KernelScratch& scratch, int32_t changed) {
  const int32_t stride = kStride > 0 ? kStride : policy.width_stride;
  const int64_t rows_of_round = int64_t{state.num_nodes} * stride;
  const NeighbourView& from = state.from[direction];
  const PackedDirection& mlps = policy.layers.directions[direction];
  SpreadChanges(policy, state, state.from[1 - direction], scratch, changed);
  const int32_t all = scratch.level_end[policy.rounds];
  for (int32_t i = 0; i < all; ++i) {
    CopyRow<kStride>(memory.self + scratch.order[i] * stride, scratch.self + i * stride, stride);
    CopyRow<kStride>(memory.self + scratch.order[i] * stride, scratch.x + i * stride, stride);
  }
  for (int32_t round = 0; round < policy.rounds; ++round) {
    float* const messages = memory.message + (direction * policy.rounds + round) * rows_of_round;
    const int32_t senders = scratch.level_end[round];
    for (int32_t first = 0; first < senders; first += kTile) {
      MlpTile(mlps.f, scratch.x + first * stride, stride, scratch.hidden[0], scratch.hidden[1]);
      const int32_t rows = senders - first < kTile ? senders - first : kTile;
      for (int32_t r = 0; r < rows; ++r) {
        CopyRow<kStride>(scratch.hidden[1] + r * stride, messages + scratch.order[first + r] * stride, stride);
      }
    }
    const int32_t receivers = scratch.level_end[round + 1];
    for (int32_t first = 0; first < receivers; first += kTile) {
      const int32_t rows = receivers - first < kTile ? receivers - first : kTile;
      for (int32_t r = 0; r < rows; ++r) {
        const int32_t begin = from.begin[scratch.order[first + r]];
        const int32_t end = from.begin[scratch.order[first + r] + 1];
        SumRows<kStride>(from.items + begin, end - begin, messages, stride, scratch.sum + r * stride);
      }
      MlpTile(mlps.g, scratch.sum, stride, scratch.hidden[0], scratch.hidden[1]);
      for (int32_t r = 0; r < rows; ++r) {
        const int32_t node = scratch.order[first + r];
        if (from.begin[node] == from.begin[node + 1]) continue;  // The node hears nobody and keeps its own embedding.
        float* const x = scratch.x + (first + r) * stride;
        for (int32_t i = 0; i < stride; i += kRowLanes) {
          NarrowVec::Add(NarrowVec::Load(scratch.self + (first + r) * stride + i),
                         NarrowVec::Load(scratch.hidden[1] + r * stride + i))
              .Store(x + i);
        }
      }
    }
  }
  for (int32_t i = 0; i < all; ++i) {
    CopyRow<kStride>(scratch.x + i * stride, memory.x + direction * rows_of_round + scratch.order[i] * stride, stride);
    memory.inner_set[scratch.order[i]] = kNoSet;
  }
}

template <int kStride>
inline void CopyEmbedding(const PackedPolicy& policy, const StateView& state, const EpisodeMemory& memory, int32_t node,
                          float* row) {
  const int32_t stride = kStride > 0 ? kStride : policy.width_stride;
  const int64_t rows = int64_t{state.num_nodes} * stride;
  CopyRow<kStride>(memory.x + node * stride, row, stride);
  CopyRow<kStride>(memory.x + rows + node * stride, row + policy.width, stride);
}

inline bool HasBit(const uint64_t* words, int32_t bit) { return (words[bit / 64] >> (bit % 64) & 1) != 0; }

// Lists the nodes of each set. The current node is in no set.
inline void ListSets(const StateView& state, const KernelScratch& scratch, int32_t* counts) {
  for (int set = 0; set < 3; ++set) counts[set] = 0;
  for (int32_t node = 0; node < state.num_nodes; ++node) {
    const int set = HasBit(state.ancestors, node) ? 0 : HasBit(state.descendants, node) ? 1 : 2;
    scratch.members[set * state.num_nodes + counts[set]] = node;
    counts[set] += static_cast<int32_t>(node != state.step);
  }
}

// row [padded 2m] = relu(G(sum over the set of relu(F(e)))); the sum of an empty set is 0.
template <int kStride>
inline void PoolSet(const PackedPolicy& policy, const StateView& state, int set, int32_t count, EpisodeMemory& memory,
                    const KernelScratch& scratch, float* row) {
  const PackedPool& pool = policy.layers.pools[set];
  const int32_t* const members = scratch.members + set * state.num_nodes;
  int32_t stale = 0;
  for (int32_t i = 0; i < count; ++i) {
    scratch.stale[stale] = members[i];
    stale += static_cast<int32_t>(memory.inner_set[members[i]] != set);
    memory.inner_set[members[i]] = static_cast<uint8_t>(set);
  }
  for (int32_t first = 0; first < stale; first += kTile) {
    const int32_t rows = stale - first < kTile ? stale - first : kTile;
    for (int32_t r = 0; r < rows; ++r) {
      CopyEmbedding<kStride>(policy, state, memory, scratch.stale[first + r],
                             scratch.embedding + r * policy.embedding_stride);
    }
    MlpTile(pool.inner, scratch.embedding, policy.embedding_stride, scratch.hidden[0], scratch.hidden[1]);
    for (int32_t r = 0; r < rows; ++r) {
      CopyRow<0>(scratch.hidden[1] + r * policy.inner_stride,
                 memory.inner + scratch.stale[first + r] * policy.inner_stride, policy.inner_stride);
    }
  }
  SumRows<0>(members, count, memory.inner, policy.inner_stride, scratch.set_sum);
  LayerRows<true, 1, 4, 0>(pool.outer.hidden, scratch.set_sum, 0, scratch.hidden[0], 0);
  LayerRows<true, 1, 4, 0>(pool.outer.output, scratch.hidden[0], 0, row, 0);
}

// kStride: policy.width_stride if it is known at compile time, else 0.
template <int kStride>
inline void PooledOf(const PackedPolicy& policy, const StateView& state, EpisodeMemory& memory,
                     const KernelScratch& scratch, float* row) {
  const int32_t changed = ListChanged(state, memory, scratch);
  SelfEmbed<kStride>(policy, state, memory, scratch, changed);
  for (int direction = 0; direction < 2; ++direction)
    PassMessages<kStride>(policy, state, direction, memory, scratch, changed);
  // Each part is stored as whole registers, so that the next one covers the padding of the one before.
  const int32_t part = 2 * policy.width;
  if (policy.pooling) {
    // The current node is in no set, so the F of no set is needed for it.
    memory.inner_set[state.step] = kNoSet;
    int32_t counts[3];
    ListSets(state, scratch, counts);
    for (int set = 0; set < 3; ++set)
      PoolSet<kStride>(policy, state, set, counts[set], memory, scratch, row + set * part);
  } else {
    for (int32_t i = 0; i < 3 * part; ++i) row[i] = 0;
  }
  CopyEmbedding<kStride>(policy, state, memory, state.step, row + 3 * part);
}

inline void Pooled(const PackedPolicy& policy, const StateView& state, EpisodeMemory& memory,
                   const KernelScratch& scratch, float* row) {
  if (policy.width_stride == 8) return PooledOf<8>(policy, state, memory, scratch, row);
  if (policy.width_stride == 16) return PooledOf<16>(policy, state, memory, scratch, row);
  PooledOf<0>(policy, state, memory, scratch, row);
}

inline void Classify(const PackedPolicy& policy, const float* rows, int32_t count, float* hidden0, float* hidden1,
                     float* logits) {
  const PackedLayer* const layers = policy.layers.classifier;
  LayerAllRows<true>(layers[0], rows, policy.pooled_stride, count, hidden0, layers[0].padded_out);
  LayerAllRows<true>(layers[1], hidden0, layers[0].padded_out, count, hidden1, layers[1].padded_out);
  LayerAllRows<false>(layers[2], hidden1, layers[1].padded_out, count, logits, layers[2].padded_out);
}

}  // namespace
}  // namespace emplace
