// The backward pass through the body for one state, by one block. It first runs the forward pass again and keeps only x
// at the start of each round, in global memory, with one place for each resident block. It computes the rest of a round
// once more when it reaches the round.
#pragma once

#include "policy/placeto/cuda/state_forward.h"

namespace emplace::gpu {

// Weight gradients of one state are summed in the arena over nodes and rounds, in up to this many slices, and then
// added to the block's row of partial gradients.
inline constexpr int32_t kMaxGradientSlices = 8;
EMPLACE_HOST_DEVICE int32_t GradientSlices(int32_t tiles, int32_t threads) {
  return Max(1, Min(kMaxGradientSlices, threads / tiles));
}

// A layer's sums in one slice: weight [out_padded, in_padded], bias [out_padded].
EMPLACE_HOST_DEVICE int32_t SumFloats(const LayerPlan& layer) { return (layer.in_padded + 1) * layer.out_padded; }

EMPLACE_DEVICE void StoreTile(const LayerPlan& layer, WeightTile tile, WeightSums sums, bool add, float* layer_sums) {
  for (int32_t o = 0; o < 4; ++o) {
    float* const row = layer_sums + (tile.out + o) * layer.in_padded + tile.in;
    Store(row, add ? Sum(sums.weight[o], Load(row)) : sums.weight[o]);
  }
  if (tile.in != 0) return;
  float* const bias = layer_sums + layer.out_padded * layer.in_padded + tile.out;
  Store(bias, add ? Sum(sums.bias, Load(bias)) : sums.bias);
}

// Adds the slices of a layer's sums to the partial gradient.
template <typename Block>
EMPLACE_DEVICE void AddToPartial(Block& block, const LayerPlan& layer, const float* layer_sums, int32_t slices,
                                 int32_t slice_stride, float* partial) {
  block.ForEach(layer.parameters(), [&](int32_t parameter) {
    const int32_t weights = layer.in * layer.out;
    const int32_t place = parameter < weights ? parameter / layer.in * layer.in_padded + parameter % layer.in
                                              : layer.out_padded * layer.in_padded + (parameter - weights);
    float sum = 0.0F;
    for (int32_t slice = 0; slice < slices; ++slice) sum += layer_sums[slice * slice_stride + place];
    partial[layer.partial + parameter] += sum;
  });
}

// Offsets in the arena, in floats, at the three stages after the forward pass.
struct BackwardArena {
  ForwardArena forward;
  // Pools; the embedding stays where the forward pass left it.
  int32_t pool_hidden;  // [n, e]
  int32_t d_inner;      // [n, e]
  int32_t d_hidden;     // [n, e]
  int32_t sets;
  int32_t pool_sums;
  int32_t pool_slices;
  // Rounds; d_self stays until the end.
  int32_t d_self;     // [n, m]
  int32_t d_x;        // [n, m] gradient of x at the end, then at the start of a round; in between, of the sums
  int32_t inputs;     // [3, n, m] what f.1, g.0 and g.1 read
  int32_t gradients;  // [4, n, m] of the outputs of f.0, f.1, g.0 and g.1 before their relu
  int32_t round_sums;
  int32_t round_slices;
  // Self embedding.
  int32_t features;        // [n, F]
  int32_t self_hidden;     // [2, n, F]
  int32_t d_self_hidden;   // [2, n, F]
  int32_t self_embedding;  // [n, m] computed again, not read
  int32_t self_sums;
  int32_t self_slices;
  int32_t floats;
};

EMPLACE_HOST_DEVICE BackwardArena PlanBackwardArena(const PlacetoPlan& plan, int32_t n, int32_t threads) {
  BackwardArena arena;
  arena.forward = PlanForwardArena(plan, n);
  const int32_t row = n * arena.forward.stride;
  const int32_t embedding_row = n * arena.forward.embedding_stride;
  const int32_t feature_row = n * arena.forward.feature_stride;

  const LayerPlan& pool = plan.layers[kPools];
  arena.pool_slices = GradientSlices(2 * kNumPools * TilesOf(pool), threads);
  arena.pool_hidden = arena.forward.embedding + embedding_row;
  arena.d_inner = arena.pool_hidden + embedding_row;
  arena.d_hidden = arena.d_inner + embedding_row;
  arena.sets = arena.d_hidden + embedding_row;
  arena.pool_sums = arena.sets + NodeSetFloats(n);
  const int32_t pools_end = arena.pool_sums + arena.pool_slices * 2 * kNumPools * SumFloats(pool);

  const LayerPlan& message = plan.layers[kDirections];
  arena.round_slices = GradientSlices(kLayersPerDirection * TilesOf(message), threads);
  arena.d_self = 0;
  arena.d_x = arena.d_self + row;
  arena.inputs = arena.d_x + row;
  arena.gradients = arena.inputs + 3 * row;
  arena.round_sums = arena.gradients + 4 * row;
  const int32_t rounds_end = arena.round_sums + arena.round_slices * kLayersPerDirection * SumFloats(message);

  const LayerPlan& self = plan.layers[kSelf];
  const LayerPlan& last = plan.layers[kSelf + 2];
  arena.self_slices = GradientSlices(2 * TilesOf(self) + TilesOf(last), threads);
  arena.features = arena.d_self + row;
  arena.self_hidden = arena.features + feature_row;
  arena.d_self_hidden = arena.self_hidden + 2 * feature_row;
  arena.self_embedding = arena.d_self_hidden + 2 * feature_row;
  arena.self_sums = arena.self_embedding + row;
  const int32_t self_end = arena.self_sums + arena.self_slices * (2 * SumFloats(self) + SumFloats(last));

  arena.floats = Max(Max(arena.forward.floats, pools_end), Max(rounds_end, self_end));
  return arena;
}

// The data that a resident block keeps in global memory.
struct BlockScratch {
  Checkpoints checkpoints;
  Rows d_embedding;  // [n, e]
};
EMPLACE_HOST_DEVICE int64_t ScratchFloats(const PlacetoPlan& plan, int32_t n) {
  return CheckpointFloats(plan, n) + static_cast<int64_t>(n) * RowStride(plan.embedding_padded);
}
EMPLACE_DEVICE BlockScratch ScratchAt(const PlacetoPlan& plan, int32_t n, float* memory) {
  return {{memory, plan.rounds, n, RowStride(plan.width_padded)},
          {memory + CheckpointFloats(plan, n), RowStride(plan.embedding_padded)}};
}

// Computes scratch.d_embedding and the gradients of F from those of the sums over the sets, [3, e padded], and of the
// current node's own e.
template <typename Block>
EMPLACE_DEVICE void BackwardPools(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                                  const float* d_sums, const float* d_own, const BackwardArena& at, float* arena,
                                  const BlockScratch& scratch, float* partial) {
  const int32_t stride = at.forward.embedding_stride;
  const int32_t width = plan.embedding_padded;
  const Rows embedding{arena + at.forward.embedding, stride};
  const Rows hidden{arena + at.pool_hidden, stride};
  const Rows d_inner{arena + at.d_inner, stride};
  const Rows d_hidden{arena + at.d_hidden, stride};
  const NodeSets sets = NodeSetsAt(arena + at.sets);
  SortNodesBySet(block, state, sets);
  ForPoolLayer(block, plan, packed, sets, false, 0, embedding,
               [&](int32_t node, int32_t, int32_t first, const Four& y) { Store(hidden[node] + first, Relu(y)); });
  // All that is needed of the sets' inner rows is where they are positive.
  ForPoolLayer(block, plan, packed, sets, false, 1, hidden,
               [&](int32_t node, int32_t set, int32_t first, const Four& y) {
                 Store(d_inner[node] + first, Where(y, Load(d_sums + set * width + first)));
               });
  ForPoolLayer(block, plan, packed, sets, true, 1, d_inner, [&](int32_t node, int32_t, int32_t first, const Four& d) {
    Store(d_hidden[node] + first, Where(Load(hidden[node] + first), d));
  });
  ForPoolLayer(block, plan, packed, sets, true, 0, d_hidden, [&](int32_t node, int32_t, int32_t first, const Four& d) {
    Store(scratch.d_embedding[node] + first, d);
  });
  // Six layers of one shape: F.0 and F.1 of each set.
  const LayerPlan& shape = plan.layers[kPools];
  const int32_t tiles = TilesOf(shape);
  const int32_t sums = SumFloats(shape);
  const int32_t slice_stride = 2 * kNumPools * sums;
  block.ForEach(at.pool_slices * 2 * kNumPools * tiles + width / 4, [&](int32_t item) {
    const int32_t slice = item / (2 * kNumPools * tiles);
    if (slice == at.pool_slices) {  // The current node, which is in no set.
      const int32_t first = item % (2 * kNumPools * tiles) * 4;
      Store(scratch.d_embedding[state.step] + first, Load(d_own + first));
      return;
    }
    const int32_t layer = item / tiles % (2 * kNumPools);
    const int32_t set = layer / 2;
    const bool second = layer % 2 == 1;
    const WeightTile tile = TileAt(shape, item % tiles);
    const WeightSums tile_sums = SumWeightTile(Rows{arena + (second ? at.d_inner : at.d_hidden), stride},
                                               Rows{arena + (second ? at.pool_hidden : at.forward.embedding), stride},
                                               tile, sets.begin[set] + slice, sets.begin[set + 1], at.pool_slices,
                                               [&](int32_t i) { return sets.order[i]; });
    StoreTile(shape, tile, tile_sums, false, arena + at.pool_sums + slice * slice_stride + layer * sums);
  });
  for (int32_t layer = 0; layer < 2 * kNumPools; ++layer) {
    AddToPartial(block, plan.layers[kPools + kLayersPerPool * (layer / 2) + layer % 2],
                 arena + at.pool_sums + layer * sums, at.pool_slices, slice_stride, partial);
  }
}

// Does the same for a policy that does not pool: only the current node's own e is read.
template <typename Block>
EMPLACE_DEVICE void BackwardOwn(Block& block, const PlacetoPlan& plan, const StateView& state, const float* d_own,
                                const BlockScratch& scratch) {
  const int32_t chunks = plan.embedding_padded / 4;
  block.ForEach(state.num_nodes * chunks, [&](int32_t item) {
    const int32_t node = item / chunks;
    const int32_t first = item % chunks * 4;
    Store(scratch.d_embedding[node] + first, node == state.step ? Load(d_own + first) : Zeros());
  });
}

// Goes back through one round: arena.d_x holds the gradient of the round's result, and then that of its start. Adds to
// d_self and to the sums of f's and g's gradients; the last round comes first and starts these sums.
template <typename Block>
EMPLACE_DEVICE void BackwardRound(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                                  int32_t direction, int32_t round, const BackwardArena& at, float* arena,
                                  const BlockScratch& scratch) {
  const int32_t n = state.num_nodes;
  const int32_t stride = at.forward.stride;
  const int32_t row = n * stride;
  const Direction way = DirectionOf(state, direction);
  const LayerPlan& f0 = plan.layers[way.layers];
  const LayerPlan& f1 = plan.layers[way.layers + 1];
  const LayerPlan& g0 = plan.layers[way.layers + 2];
  const LayerPlan& g1 = plan.layers[way.layers + 3];
  const Rows x = scratch.checkpoints.At(direction, round);
  const Rows f_hidden{arena + at.inputs, stride};
  const Rows sums{arena + at.inputs + row, stride};
  const Rows g_hidden{arena + at.inputs + 2 * row, stride};
  const Rows d_f_hidden{arena + at.gradients, stride};
  const Rows d_message{arena + at.gradients + row, stride};
  const Rows d_g_hidden{arena + at.gradients + 2 * row, stride};
  const Rows d_output{arena + at.gradients + 3 * row, stride};
  const Rows d_x{arena + at.d_x, stride};
  const Rows d_self{arena + at.d_self, stride};
  const int32_t chunks = plan.width_padded / 4;

  // Forward, once more. The messages lie where their gradient will be.
  const Rows& message = d_message;
  ReluLayer(block, ForwardMatrix(f0, packed), x, n, f_hidden);
  ReluLayer(block, ForwardMatrix(f1, packed), f_hidden, n, message);
  block.ForEach(n * chunks, [&](int32_t item) {
    const int32_t node = item % n;
    const int32_t first = item / n * 4;
    Store(sums[node] + first, SumNeighbours(way.from, node, message, first));
  });
  ReluLayer(block, ForwardMatrix(g0, packed), sums, n, g_hidden);
  // x' = self + relu(y) where the node hears anybody, else self.
  ForLayer(block, ForwardMatrix(g1, packed), g_hidden, n, [&](int32_t node, int32_t first, const Four& y) {
    const Four d = Load(d_x[node] + first);
    Store(d_self[node] + first, Sum(Load(d_self[node] + first), d));
    Store(d_output[node] + first, way.from.Any(node) ? Where(y, d) : Zeros());
  });

  // The backward pass of the round.
  InputGradient(block, BackwardMatrix(g1, packed), d_output, n, g_hidden, d_g_hidden);
  const Rows& d_sums = d_x;  // Nobody needs d_x any more.
  ForLayer(block, BackwardMatrix(g0, packed), d_g_hidden, n,
           [&](int32_t node, int32_t first, const Four& d) { Store(d_sums[node] + first, d); });
  block.ForEach(n * chunks, [&](int32_t item) {
    const int32_t node = item % n;
    const int32_t first = item / n * 4;
    const Four sent = Load(message[node] + first);
    Store(d_message[node] + first, Where(sent, SumNeighbours(way.to, node, d_sums, first)));
  });
  InputGradient(block, BackwardMatrix(f1, packed), d_message, n, f_hidden, d_f_hidden);

  // The gradient of x, and those of the weights of all four layers, which have one shape.
  const Matrix back = BackwardMatrix(f0, packed);
  const int32_t input_items = LayerItems(back, n);
  const int32_t tiles = TilesOf(f0);
  const int32_t layer_sums = SumFloats(f0);
  const int32_t slice_stride = kLayersPerDirection * layer_sums;
  block.ForEach(input_items + at.round_slices * kLayersPerDirection * tiles, [&](int32_t item) {
    if (item < input_items) {
      LayerItem(back, d_f_hidden, n, item,
                [&](int32_t node, int32_t first, const Four& d) { Store(d_x[node] + first, d); });
      return;
    }
    item -= input_items;
    const int32_t slice = item / (kLayersPerDirection * tiles);
    const int32_t layer = item / tiles % kLayersPerDirection;
    const WeightTile tile = TileAt(f0, item % tiles);
    const Rows gradient{arena + at.gradients + layer * row, stride};
    const auto row_of = [](int32_t i) { return i; };
    // x is in global memory; the other inputs follow each other in the arena.
    const WeightSums tile_sums = layer == 0
                                     ? SumWeightTile(gradient, x, tile, slice, n, at.round_slices, row_of)
                                     : SumWeightTile(gradient, Rows{arena + at.inputs + (layer - 1) * row, stride},
                                                     tile, slice, n, at.round_slices, row_of);
    StoreTile(f0, tile, tile_sums, round + 1 < plan.rounds,
              arena + at.round_sums + slice * slice_stride + layer * layer_sums);
  });
}

template <typename Block>
EMPLACE_DEVICE void BackwardSelf(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                                 const BackwardArena& at, float* arena, float* partial) {
  const int32_t n = state.num_nodes;
  const int32_t feature_stride = at.forward.feature_stride;
  const int32_t feature_row = n * feature_stride;
  const LayerPlan& first = plan.layers[kSelf];
  const LayerPlan& second = plan.layers[kSelf + 1];
  const LayerPlan& third = plan.layers[kSelf + 2];
  const Rows features{arena + at.features, feature_stride};
  const Rows first_hidden{arena + at.self_hidden, feature_stride};
  const Rows second_hidden{arena + at.self_hidden + feature_row, feature_stride};
  const Rows d_first_hidden{arena + at.d_self_hidden, feature_stride};
  const Rows d_second_hidden{arena + at.d_self_hidden + feature_row, feature_stride};
  const Rows d_self{arena + at.d_self, at.forward.stride};
  EmbedSelf(block, plan, packed, state, features, first_hidden, second_hidden,
            Rows{arena + at.self_embedding, at.forward.stride});
  InputGradient(block, BackwardMatrix(third, packed), d_self, n, second_hidden, d_second_hidden);
  InputGradient(block, BackwardMatrix(second, packed), d_second_hidden, n, first_hidden, d_first_hidden);
  const int32_t tiles = TilesOf(first);
  const int32_t all_tiles = 2 * tiles + TilesOf(third);
  const int32_t sums = SumFloats(first);
  const int32_t slice_stride = 2 * sums + SumFloats(third);
  block.ForEach(at.self_slices * all_tiles, [&](int32_t item) {
    const int32_t slice = item / all_tiles;
    const int32_t index = item % all_tiles;
    const int32_t layer = Min(index / tiles, 2);
    const LayerPlan& shape = plan.layers[kSelf + layer];
    const WeightTile tile = TileAt(shape, index - layer * tiles);
    // d_first_hidden, d_second_hidden or d_self; and the input of that layer, which follow each other in the arena.
    const Rows dy{arena + (layer == 2 ? at.d_self : at.d_self_hidden + layer * feature_row),
                  layer == 2 ? at.forward.stride : feature_stride};
    const Rows x{arena + at.features + layer * feature_row, feature_stride};
    const WeightSums tile_sums = SumWeightTile(dy, x, tile, slice, n, at.self_slices, [](int32_t i) { return i; });
    StoreTile(shape, tile, tile_sums, false, arena + at.self_sums + slice * slice_stride + layer * sums);
  });
  for (int32_t layer = 0; layer < 3; ++layer) {
    AddToPartial(block, plan.layers[kSelf + layer], arena + at.self_sums + layer * sums, at.self_slices, slice_stride,
                 partial);
  }
}

// Adds the state's gradient to `partial`, the block's own row of partial gradients of the body.
template <typename Block>
EMPLACE_DEVICE void BackwardState(Block& block, const PlacetoPlan& plan, const float* packed, const StateView& state,
                                  const float* d_sums, const float* d_own, float* arena, float* scratch_memory,
                                  float* partial) {
  const int32_t n = state.num_nodes;
  const BackwardArena at = PlanBackwardArena(plan, n, block.threads());
  const BlockScratch scratch = ScratchAt(plan, n, scratch_memory);
  EmbedNodes(block, plan, packed, state, at.forward, arena, scratch.checkpoints);
  if (plan.pooling != 0) {
    BackwardPools(block, plan, packed, state, d_sums, d_own, at, arena, scratch, partial);
  } else {
    BackwardOwn(block, plan, state, d_own, scratch);
  }

  const Rows d_self{arena + at.d_self, at.forward.stride};
  const Rows d_x{arena + at.d_x, at.forward.stride};
  const int32_t chunks = plan.width_padded / 4;
  block.ForEach(n * chunks, [&](int32_t item) { Store(d_self[item / chunks] + item % chunks * 4, Zeros()); });
  for (int32_t direction = 0; direction < 2; ++direction) {
    block.ForEach(n * plan.width_padded, [&](int32_t item) {
      const int32_t node = item / plan.width_padded;
      const int32_t column = item % plan.width_padded;
      d_x[node][column] = column < plan.width ? scratch.d_embedding[node][direction * plan.width + column] : 0.0F;
    });
    for (int32_t round = plan.rounds - 1; round >= 0; --round) {
      BackwardRound(block, plan, packed, state, direction, round, at, arena, scratch);
    }
    // The rounds started from self.
    block.ForEach(n * chunks, [&](int32_t item) {
      float* const to = d_self[item / chunks] + item % chunks * 4;
      Store(to, Sum(Load(to), Load(d_x[item / chunks] + item % chunks * 4)));
    });
    if (plan.rounds == 0) continue;
    const int32_t sums = SumFloats(plan.layers[kDirections]);
    for (int32_t layer = 0; layer < kLayersPerDirection; ++layer) {
      AddToPartial(block, plan.layers[DirectionOf(state, direction).layers + layer],
                   arena + at.round_sums + layer * sums, at.round_slices, kLayersPerDirection * sums, partial);
    }
  }
  BackwardSelf(block, plan, packed, state, at, arena, partial);
}

}  // namespace emplace::gpu
