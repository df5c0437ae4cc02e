// The body of the network for one state, by one block: features, self embedding, message rounds in both directions and
// the sums over the three sets of nodes. All arrays of the state lie in one piece of memory, the arena: in shared
// memory where it fits, else in global memory.
#pragma once

#include "policy/placeto/cuda/state_view.h"
#include "policy/placeto/placeto_features.h"

namespace emplace::gpu {

// Groups of nodes over which a sum is split first.
inline constexpr int32_t kSumSlices = 8;

// Offsets in the arena, in floats. What is not needed at the same time overlaps.
struct ForwardArena {
  int32_t stride;            // Stride of rows of m floats
  int32_t embedding_stride;  // Stride of rows of e floats
  int32_t feature_stride;    // Stride of rows of F floats
  int32_t self;              // [n, m]
  int32_t embedding;         // [n, e]
  // While the self embedding is computed:
  int32_t features;     // [n, F]
  int32_t self_hidden;  // [2, n, F]
  // During the rounds:
  int32_t x;        // [n, m]
  int32_t hidden;   // [n, m] of f, then the sums over neighbours
  int32_t message;  // [n, m] then the hidden layer of g
  // During pooling:
  int32_t pool_hidden;  // [n, e]
  int32_t pool_inner;   // [n, e]
  int32_t pool_sums;    // [kSumSlices, 3, e]
  int32_t sets;         // NodeSets
  int32_t floats;       // Size of the whole arena
};

EMPLACE_HOST_DEVICE int32_t NodeSetFloats(int32_t num_nodes) { return 4 + PadToFour(num_nodes); }

EMPLACE_HOST_DEVICE ForwardArena PlanForwardArena(const PlacetoPlan& plan, int32_t n) {
  ForwardArena arena;
  arena.stride = RowStride(plan.width_padded);
  arena.embedding_stride = RowStride(plan.embedding_padded);
  arena.feature_stride = RowStride(plan.features_padded);
  arena.self = 0;
  arena.embedding = arena.self + n * arena.stride;
  const int32_t work = arena.embedding + n * arena.embedding_stride;
  arena.features = work;
  arena.self_hidden = arena.features + n * arena.feature_stride;
  arena.floats = arena.self_hidden + 2 * n * arena.feature_stride;
  arena.x = work;
  arena.hidden = arena.x + n * arena.stride;
  arena.message = arena.hidden + n * arena.stride;
  arena.floats = Max(arena.floats, arena.message + n * arena.stride);
  arena.pool_hidden = work;
  arena.pool_inner = arena.pool_hidden + n * arena.embedding_stride;
  arena.pool_sums = arena.pool_inner + n * arena.embedding_stride;
  arena.sets = arena.pool_sums + kSumSlices * kNumPools * plan.embedding_padded;
  arena.floats = Max(arena.floats, arena.sets + NodeSetFloats(n));
  return arena;
}

// The nodes by set: ancestors of the current node, then its descendants, then the others, each ascending. The current
// node is in no set.
struct NodeSets {
  int32_t* begin;  // [4] positions in `order`
  int32_t* order;  // [n - 1]
};
EMPLACE_DEVICE NodeSets NodeSetsAt(float* memory) {
  return {reinterpret_cast<int32_t*>(memory), reinterpret_cast<int32_t*>(memory) + 4};
}

EMPLACE_DEVICE int32_t CountBits(uint64_t word) {
#ifdef __CUDA_ARCH__
  return __popcll(word);
#else
  return __builtin_popcountll(word);
#endif
}
// The number of bits in [0, end) that are set.
EMPLACE_DEVICE int32_t CountBitsBefore(const uint64_t* set, int32_t end) {
  int32_t count = 0;
  for (int32_t word = 0; word < end / 64; ++word) count += CountBits(set[word]);
  if (end % 64 != 0) count += CountBits(set[end / 64] & ((uint64_t{1} << (end % 64)) - 1));
  return count;
}
EMPLACE_DEVICE bool HasBit(const uint64_t* set, int32_t bit) { return (set[bit / 64] >> (bit % 64) & 1) != 0; }

template <typename Block>
EMPLACE_DEVICE void SortNodesBySet(Block& block, const StateView& state, const NodeSets& sets) {
  block.ForEach(state.num_nodes, [&](int32_t node) {
    const int32_t ancestors = CountBitsBefore(state.ancestors, state.num_nodes);
    const int32_t descendants = CountBitsBefore(state.descendants, state.num_nodes);
    if (node == state.step) {
      sets.begin[0] = 0;
      sets.begin[1] = ancestors;
      sets.begin[2] = ancestors + descendants;
      sets.begin[3] = state.num_nodes - 1;
      return;
    }
    const int32_t ancestors_before = CountBitsBefore(state.ancestors, node);
    const int32_t descendants_before = CountBitsBefore(state.descendants, node);
    int32_t position = 0;
    if (HasBit(state.ancestors, node)) {
      position = ancestors_before;
    } else if (HasBit(state.descendants, node)) {
      position = ancestors + descendants_before;
    } else {
      const int32_t others_before = node - (node > state.step ? 1 : 0) - ancestors_before - descendants_before;
      position = ancestors + descendants + others_before;
    }
    sets.order[position] = node;
  });
}

template <typename Block>
EMPLACE_DEVICE void FillFeatures(Block& block, const PlacetoPlan& plan, const StateView& state, const Rows& features) {
  block.ForEach(state.num_nodes, [&](int32_t node) {
    float* const row = features[node];
    int32_t count = 0;
    const NodeFacts facts{state.cost[node], state.bytes[node], state.memory[node], state.Device(node), node,
                          state.step};
    const NodeFeatures present{.num_devices = plan.num_devices, .memory = plan.memory_feature != 0};
    ForEachFeature(facts, present, [&](int32_t feature, float value) {
      row[feature] = value;
      count = feature + 1;
    });
    while (count < plan.features_padded) row[count++] = 0.0F;
  });
}

// Leaves the features and both hidden layers in the arena for the backward pass.
template <typename Block>
EMPLACE_DEVICE void EmbedSelf(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                              const Rows& features, const Rows& first_hidden, const Rows& second_hidden,
                              const Rows& self) {
  const int32_t n = state.num_nodes;
  FillFeatures(block, plan, state, features);
  ReluLayer(block, ForwardMatrix(plan.layers[kSelf], packed), features, n, first_hidden);
  ReluLayer(block, ForwardMatrix(plan.layers[kSelf + 1], packed), first_hidden, n, second_hidden);
  ForLayer(block, ForwardMatrix(plan.layers[kSelf + 2], packed), second_hidden, n,
           [&](int32_t row, int32_t first, const Four& value) { Store(self[row] + first, value); });
}

// x at the start of each round, from which the backward pass starts. It is in global memory, with one place for each
// resident block. Both directions start from the self embedding, so they share the first x.
struct Checkpoints {
  float* memory;   // Null: nothing is kept.
  int32_t rounds;  // k
  int32_t nodes;   // Nodes of the state's graph
  int32_t stride;

  EMPLACE_DEVICE Rows At(int32_t direction, int32_t round) const {
    const int32_t slot = round == 0 ? 0 : 1 + direction * (rounds - 1) + (round - 1);
    return {memory + static_cast<int64_t>(slot) * nodes * stride, stride};
  }
};
EMPLACE_HOST_DEVICE int64_t CheckpointFloats(const PlacetoPlan& plan, int32_t n) {
  if (plan.rounds == 0) return 0;
  return (2 * static_cast<int64_t>(plan.rounds) - 1) * n * RowStride(plan.width_padded);
}

struct Direction {
  Neighbours from;  // The neighbours that a node hears.
  Neighbours to;    // The neighbours that hear it.
  int32_t layers;   // f.0, f.1, g.0, g.1
};
EMPLACE_DEVICE Direction DirectionOf(const StateView& state, int32_t direction) {
  return direction == 0 ? Direction{state.parents, state.children, kDirections}
                        : Direction{state.children, state.parents, kDirections + kLayersPerDirection};
}

// The message rounds in one direction. Writes m columns of each row of `embedding` from column direction * m on.
template <typename Block>
EMPLACE_DEVICE void PassMessages(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                                 int32_t direction, const ForwardArena& at, float* arena,
                                 const Checkpoints& checkpoints) {
  const int32_t n = state.num_nodes;
  const Direction way = DirectionOf(state, direction);
  const Rows self{arena + at.self, at.stride};
  const Rows next{arena + at.x, at.stride};
  const Rows hidden{arena + at.hidden, at.stride};
  const Rows message{arena + at.message, at.stride};
  const Rows embedding{arena + at.embedding, at.embedding_stride};
  const Matrix f0 = ForwardMatrix(plan.layers[way.layers], packed);
  const Matrix f1 = ForwardMatrix(plan.layers[way.layers + 1], packed);
  const Matrix g0 = ForwardMatrix(plan.layers[way.layers + 2], packed);
  const Matrix g1 = ForwardMatrix(plan.layers[way.layers + 3], packed);
  for (int32_t round = 0; round < plan.rounds; ++round) {
    ReluLayer(block, f0, Rows{arena + (round == 0 ? at.self : at.x), at.stride}, n, hidden);
    ReluLayer(block, f1, hidden, n, message);
    const Rows& sums = hidden;
    block.ForEach(n * (plan.width_padded / 4), [&](int32_t item) {
      const int32_t node = item % n;
      const int32_t first = item / n * 4;
      Store(sums[node] + first, SumNeighbours(way.from, node, message, first));
    });
    ReluLayer(block, g0, sums, n, message);
    const bool keep = checkpoints.memory != nullptr && round + 1 < plan.rounds;
    ForLayer(block, g1, message, n, [&](int32_t node, int32_t first, const Four& value) {
      Four x = Load(self[node] + first);
      if (way.from.Any(node)) x = Sum(x, Relu(value));
      Store(next[node] + first, x);
      if (keep) Store(checkpoints.At(direction, round + 1)[node] + first, x);
    });
  }
  const Rows x{arena + (plan.rounds == 0 ? at.self : at.x), at.stride};
  block.ForEach(n * plan.width, [&](int32_t item) {
    const int32_t node = item / plan.width;
    const int32_t column = item % plan.width;
    embedding[node][direction * plan.width + column] = x[node][column];
  });
}

// Embeddings of all nodes: arena.embedding, and, where asked for, the checkpoints.
template <typename Block>
EMPLACE_DEVICE void EmbedNodes(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                               const ForwardArena& at, float* arena, const Checkpoints& checkpoints) {
  const int32_t n = state.num_nodes;
  const Rows self{arena + at.self, at.stride};
  const Rows embedding{arena + at.embedding, at.embedding_stride};
  const Rows first_hidden{arena + at.self_hidden, at.feature_stride};
  const Rows second_hidden{arena + at.self_hidden + n * at.feature_stride, at.feature_stride};
  EmbedSelf(block, plan, packed, state, Rows{arena + at.features, at.feature_stride}, first_hidden, second_hidden,
            self);
  const bool keep = checkpoints.memory != nullptr && plan.rounds > 0;
  block.ForEach(n, [&](int32_t node) {
    for (int32_t i = plan.embedding; i < plan.embedding_padded; ++i) embedding[node][i] = 0.0F;
    if (!keep) return;
    for (int32_t i = 0; i < plan.width_padded; i += 4) {
      Store(checkpoints.At(0, 0)[node] + i, Load(self[node] + i));
    }
  });
  for (int32_t direction = 0; direction < 2; ++direction) {
    PassMessages(block, plan, packed, state, direction, at, arena, checkpoints);
  }
}

// F over all nodes of the sets, each with its set's weights; `layer` is 0 or 1 for F.0 or F.1.
// finish(node, set, first, Four) takes four columns.
template <typename Block, typename Finish>
EMPLACE_DEVICE void ForPoolLayer(Block& block, const PlacetoPlan& plan, const float* packed, const NodeSets& sets,
                                 bool backward, int32_t layer, const Rows& x, const Finish& finish) {
  // Nodes go in pairs; a pair is within one set.
  const int32_t first_set_end = DivideUp(sets.begin[1] - sets.begin[0], 2);
  const int32_t second_set_end = first_set_end + DivideUp(sets.begin[2] - sets.begin[1], 2);
  const int32_t all = second_set_end + DivideUp(sets.begin[3] - sets.begin[2], 2);
  const int32_t chunks = plan.embedding_padded / 4;
  block.ForEach(all * chunks, [&](int32_t item) {
    const int32_t pair = item % all;
    const int32_t first = item / all * 4;
    const int32_t set = (pair >= first_set_end ? 1 : 0) + (pair >= second_set_end ? 1 : 0);
    const int32_t in_set = pair - (set == 0 ? 0 : set == 1 ? first_set_end : second_set_end);
    const LayerPlan& parameters = plan.layers[kPools + kLayersPerPool * set + layer];
    const Matrix matrix = backward ? BackwardMatrix(parameters, packed) : ForwardMatrix(parameters, packed);
    const int32_t position = sets.begin[set] + in_set;
    const int32_t other = position + DivideUp(sets.begin[set + 1] - sets.begin[set], 2);
    const bool two = other < sets.begin[set + 1];
    const int32_t node = sets.order[position];
    const int32_t second = sets.order[two ? other : position];
    const float* const inputs[2] = {x[node], x[second]};
    Four outputs[2];
    MatrixTile(matrix, inputs, first, outputs);
    finish(node, set, first, outputs[0]);
    if (two) finish(second, set, first, outputs[1]);
  });
}

// Computes set_sums [3, e padded], the sums of relu(F(e)) by set, from the embeddings.
template <typename Block>
EMPLACE_DEVICE void SumSets(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                            const ForwardArena& at, float* arena, float* set_sums) {
  const int32_t width = plan.embedding_padded;
  const NodeSets sets = NodeSetsAt(arena + at.sets);
  const Rows embedding{arena + at.embedding, at.embedding_stride};
  const Rows hidden{arena + at.pool_hidden, at.embedding_stride};
  const Rows inner{arena + at.pool_inner, at.embedding_stride};
  float* const partial = arena + at.pool_sums;
  SortNodesBySet(block, state, sets);
  ForPoolLayer(block, plan, packed, sets, false, 0, embedding,
               [&](int32_t node, int32_t, int32_t first, const Four& y) { Store(hidden[node] + first, Relu(y)); });
  ForPoolLayer(block, plan, packed, sets, false, 1, hidden,
               [&](int32_t node, int32_t, int32_t first, const Four& y) { Store(inner[node] + first, Relu(y)); });
  const int32_t columns = kNumPools * width / 4;  // Four floats each, of all sets.
  block.ForEach(kSumSlices * columns, [&](int32_t item) {
    const int32_t slice = item / columns;
    const int32_t set = item % columns / (width / 4);
    const int32_t first = item % (width / 4) * 4;
    Four sum = Zeros();
    for (int32_t i = sets.begin[set] + slice; i < sets.begin[set + 1]; i += kSumSlices) {
      sum = Sum(sum, Load(inner[sets.order[i]] + first));
    }
    Store(partial + item * 4, sum);
  });
  block.ForEach(columns, [&](int32_t item) {
    Four sum = Zeros();
    for (int32_t slice = 0; slice < kSumSlices; ++slice) sum = Sum(sum, Load(partial + (slice * columns + item) * 4));
    Store(set_sums + item * 4, sum);
  });
}

// The body's result for one state: where the policy pools, the sums over the sets; and the current node's own e.
template <typename Block>
EMPLACE_DEVICE void ForwardState(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                                 float* arena, float* set_sums, float* own) {
  const ForwardArena at = PlanForwardArena(plan, state.num_nodes);
  EmbedNodes(block, plan, packed, state, at, arena, Checkpoints{nullptr, 0, 0, 0});
  if (plan.pooling != 0) SumSets(block, plan, packed, state, at, arena, set_sums);
  const Rows embedding{arena + at.embedding, at.embedding_stride};
  block.ForEach(plan.embedding_padded / 4,
                [&](int32_t item) { Store(own + item * 4, Load(embedding[state.step] + item * 4)); });
}

}  // namespace emplace::gpu
