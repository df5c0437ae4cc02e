// The kernel's one algorithm, over a type `Vec` of 8 floats that the including file defines. Included by
// policy_kernel_portable.cc and policy_kernel_avx2.cc, nowhere else. All of it is in the unnamed namespace: code compiled
// for AVX2 must never be merged with a function of the same name that older processors run.
//
// Layout is node-major. A layer walks its inputs: each is broadcast and multiplied with one contiguous row of weights.
// Every output therefore adds bias, input 0, input 1, ... in this order however nodes are tiled.
#pragma once

#include <cstdint>

#include "common/policy/kernel/policy_kernel_plan.h"

namespace emplace {
namespace {

// Rows of a matrix that one tile works on.
struct Rows {
  float* data;
  int64_t stride;

  float* operator[](int32_t row) const { return data + row * stride; }
};

// y = W x + b for `kRows` rows and `kVecs` registers of outputs from output `first` on.
template <bool kRelu, int kRows, int kVecs>
inline void LayerTile(const PackedLayer& layer, const float* const* x, float* const* y, int32_t first) {
  // Unrolled by name: at -O2 the sums would otherwise live in memory, not in registers.
  Vec sums[static_cast<unsigned>(kRows)][static_cast<unsigned>(kVecs)];
#pragma GCC unroll 8
  for (int v = 0; v < kVecs; ++v) {
    const Vec bias = Vec::Load(layer.bias + first + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const float* weight = layer.weight + first;
  for (int32_t i = 0; i < layer.in; ++i, weight += layer.padded_out) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      const Vec column = Vec::Load(weight + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sums[r][v] = Vec::MultiplyAdd(Vec::Broadcast(x[r] + i), column, sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      const Vec sum = kRelu ? Vec::Relu(sums[r][v]) : sums[r][v];
      sum.Store(y[r] + first + v * kLanes);
    }
  }
}

// All outputs of a layer for kTile rows.
template <bool kRelu>
inline void LayerRows(const PackedLayer& layer, const float* const* x, float* const* y) {
  for (int32_t first = 0; first < layer.padded_out; first += kLanes) LayerTile<kRelu, kTile, 1>(layer, x, y, first);
}

// All outputs of a layer for a single row.
template <bool kRelu>
inline void LayerRow(const PackedLayer& layer, const float* x, float* y) {
  int32_t first = 0;
  for (; first + 4 * kLanes <= layer.padded_out; first += 4 * kLanes) LayerTile<kRelu, 1, 4>(layer, &x, &y, first);
  for (; first < layer.padded_out; first += kLanes) LayerTile<kRelu, 1, 1>(layer, &x, &y, first);
}

// Calls tile(rows) for kTile rows of the list at a time. The last tile repeats the last row, which then is computed
// several times to the same bits: cheaper than a second shape of the loops. REQUIRES: outputs are no inputs.
template <typename TileFunction>
inline void ForTiles(const int32_t* list, int32_t count, const TileFunction& tile) {
  for (int32_t first = 0; first < count; first += kTile) {
    int32_t rows[kTile];
    for (int32_t r = 0; r < kTile; ++r) rows[r] = list[first + r < count ? first + r : count - 1];
    tile(rows);
  }
}

// out[row] = relu(output(relu(hidden(in[row])))) for the listed rows.
inline void MlpRows(const PackedMlp& mlp, const int32_t* rows, Rows in, Rows out, float* scratch) {
  const float* x[kTile];
  float* hidden[kTile];
  float* y[kTile];
  for (int32_t r = 0; r < kTile; ++r) {
    x[r] = in[rows[r]];
    hidden[r] = scratch + r * mlp.hidden.padded_out;
    y[r] = out[rows[r]];
  }
  LayerRows<true>(mlp.hidden, x, hidden);
  LayerRows<true>(mlp.output, hidden, y);
}

// target = the sum of the rows' first `width` floats (padded), in the order of the list.
inline void SumRows(const int32_t* list, int32_t count, Rows in, float* target, int32_t padded_width) {
  for (int32_t first = 0; first < padded_width; first += kLanes) {
    Vec sum = Vec::Zero();
    for (int32_t i = 0; i < count; ++i) sum = Vec::Add(sum, Vec::Load(in[list[i]] + first));
    sum.Store(target + first);
  }
}

inline void CopyRow(const float* from, float* to, int32_t padded_width) {
  for (int32_t first = 0; first < padded_width; first += kLanes) Vec::Load(from + first).Store(to + first);
}

// The order of features is PolicyShape's.
inline void FillFeatures(const PackedPolicy& policy, const StateView& state, Rows features) {
  for (int32_t node = 0; node < state.num_nodes; ++node) {
    float* row = features[node];
    int32_t next = 0;
    row[next++] = state.cost[node];
    row[next++] = state.bytes[node];
    if (policy.memory_feature) row[next++] = state.memory[node];
    for (int32_t device = 0; device < policy.num_devices; ++device) {
      row[next++] = state.placement[node] == device ? 1.0F : 0.0F;
    }
    row[next++] = node < state.step ? 1.0F : 0.0F;
    row[next++] = node == state.step ? 1.0F : 0.0F;
  }
}

inline void SelfEmbed(const PackedPolicy& policy, int32_t num_nodes, const KernelScratch& scratch) {
  const Rows features{scratch.features, policy.feature_stride};
  const Rows self{scratch.self, policy.width_stride};
  float* first_hidden = scratch.hidden;
  float* second_hidden = first_hidden + kTile * policy.self[0].padded_out;
  for (int32_t node = 0; node < num_nodes; node += kTile) {
    const float* x[kTile];
    float* first[kTile];
    float* second[kTile];
    float* y[kTile];
    for (int32_t r = 0; r < kTile; ++r) {
      const int32_t row = node + r < num_nodes ? node + r : num_nodes - 1;
      x[r] = features[row];
      first[r] = first_hidden + r * policy.self[0].padded_out;
      second[r] = second_hidden + r * policy.self[1].padded_out;
      y[r] = self[row];
    }
    LayerRows<true>(policy.self[0], x, first);
    LayerRows<true>(policy.self[1], first, second);
    LayerRows<false>(policy.self[2], second, y);
  }
}

// The message rounds in one direction; the result is left in scratch.x. `from` lists whom a node hears, `to` who hears
// it. Only nodes that somebody hears need f, only nodes that hear somebody need g.
inline void PassMessages(const PackedDirection& direction, int32_t rounds, int32_t num_nodes, NeighbourView from,
                         NeighbourView to, int32_t stride, const KernelScratch& scratch) {
  const Rows self{scratch.self, stride};
  const Rows x{scratch.x, stride};
  const Rows message{scratch.message, stride};
  const Rows sum{scratch.sum, stride};
  int32_t num_senders = 0;
  int32_t num_receivers = 0;
  for (int32_t node = 0; node < num_nodes; ++node) {
    if (to.begin[node + 1] > to.begin[node]) scratch.senders[num_senders++] = node;
    if (from.begin[node + 1] > from.begin[node]) scratch.receivers[num_receivers++] = node;
    CopyRow(self[node], x[node], stride);
  }
  for (int32_t round = 0; round < rounds; ++round) {
    ForTiles(scratch.senders, num_senders,
             [&](const int32_t* rows) { MlpRows(direction.f, rows, x, message, scratch.hidden); });
    for (int32_t i = 0; i < num_receivers; ++i) {
      const int32_t node = scratch.receivers[i];
      SumRows(from.items + from.begin[node], from.begin[node + 1] - from.begin[node], message, sum[node], stride);
    }
    ForTiles(scratch.receivers, num_receivers,
             [&](const int32_t* rows) { MlpRows(direction.g, rows, sum, x, scratch.hidden); });
    for (int32_t i = 0; i < num_receivers; ++i) {
      const int32_t node = scratch.receivers[i];
      for (int32_t first = 0; first < stride; first += kLanes) {
        Vec::Add(Vec::Load(self[node] + first), Vec::Load(x[node] + first)).Store(x[node] + first);
      }
    }
  }
}

// target [padded 2m] = relu(G(sum over the listed nodes of relu(F(e)))); the sum of an empty set is 0.
inline void PoolNodes(const PackedPool& pool, const int32_t* list, int32_t count, Rows embedding,
                      const KernelScratch& scratch, float* target) {
  const int32_t stride = pool.inner.output.padded_out;
  const Rows inner{scratch.inner, stride};
  ForTiles(list, count, [&](const int32_t* rows) { MlpRows(pool.inner, rows, embedding, inner, scratch.hidden); });
  SumRows(list, count, inner, scratch.sum, stride);
  LayerRow<true>(pool.outer.hidden, scratch.sum, scratch.hidden);
  LayerRow<true>(pool.outer.output, scratch.hidden, target);
}

inline bool HasBit(const uint64_t* words, int32_t bit) { return (words[bit / 64] >> (bit % 64) & 1) != 0; }

// Lists the nodes of a set: ancestors, descendants or neither of the current node, which is in none of them.
template <typename Predicate>
inline int32_t ListNodes(const StateView& state, int32_t* list, const Predicate& wanted) {
  int32_t count = 0;
  for (int32_t node = 0; node < state.num_nodes; ++node) {
    if (node != state.step && wanted(node)) list[count++] = node;
  }
  return count;
}

// scratch.pooled [D] = [ancestors, descendants, neither, own e]; each part is stored as whole registers, so that the
// next one covers the padding of the one before.
inline void Pool(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch) {
  const int32_t part = 2 * policy.width;
  const Rows embedding{scratch.embedding, policy.embedding_stride};
  int32_t* list = scratch.senders;

  int32_t count = ListNodes(state, list, [&](int32_t node) { return HasBit(state.ancestors, node); });
  PoolNodes(policy.ancestors, list, count, embedding, scratch, scratch.pooled);
  count = ListNodes(state, list, [&](int32_t node) { return HasBit(state.descendants, node); });
  PoolNodes(policy.descendants, list, count, embedding, scratch, scratch.pooled + part);
  count = ListNodes(state, list, [&](int32_t node) {
    return !HasBit(state.ancestors, node) && !HasBit(state.descendants, node);
  });
  PoolNodes(policy.neither, list, count, embedding, scratch, scratch.pooled + 2 * part);
  CopyRow(embedding[state.step], scratch.pooled + 3 * part, policy.ancestors.inner.output.padded_out);
}

inline void ForwardState(const PackedPolicy& policy, const StateView& state, const KernelScratch& scratch) {
  const int32_t stride = policy.width_stride;
  const Rows x{scratch.x, stride};
  const Rows embedding{scratch.embedding, policy.embedding_stride};

  FillFeatures(policy, state, Rows{scratch.features, policy.feature_stride});
  SelfEmbed(policy, state.num_nodes, scratch);
  PassMessages(policy.forward, policy.message_rounds, state.num_nodes, state.parents, state.children, stride, scratch);
  for (int32_t node = 0; node < state.num_nodes; ++node) CopyRow(x[node], embedding[node], stride);
  PassMessages(policy.backward, policy.message_rounds, state.num_nodes, state.children, state.parents, stride, scratch);
  // After the forward half: it overwrites that half's padding.
  for (int32_t node = 0; node < state.num_nodes; ++node) CopyRow(x[node], embedding[node] + policy.width, stride);
  Pool(policy, state, scratch);

  float* first_hidden = scratch.hidden;
  float* second_hidden = first_hidden + policy.classifier[0].padded_out;
  LayerRow<true>(policy.classifier[0], scratch.pooled, first_hidden);
  LayerRow<true>(policy.classifier[1], first_hidden, second_hidden);
  LayerRow<false>(policy.classifier[2], second_hidden, scratch.logits);
}

}  // namespace
}  // namespace emplace
