// The layers that run once for a state, G of the three sets and the classifier, over many states at a time. A block
// takes kHeadRows states through all layers, so that a layer's weights are read once for these rows.
#pragma once

#include <cmath>

#include "policy/placeto/cuda/state_view.h"
#include "policy/placeto/cuda/workspace.h"

namespace emplace::gpu {

inline constexpr int32_t kHeadRows = 8;

// Rows of the array, from state `first` on.
EMPLACE_DEVICE Rows HeadRowsAt(float* array, int32_t width, int32_t first) {
  return {array + static_cast<int64_t>(first) * width, width};
}

// Calls tile(first, count) for the states of each tile that belongs to this block.
template <typename Block, typename TileFunction>
EMPLACE_DEVICE void ForHeadTiles(Block& block, const BatchView& batch, const TileFunction& tile) {
  const int32_t states = batch.scalars->num_states;
  for (int32_t first = block.rank() * kHeadRows; first < states; first += block.ranks() * kHeadRows) {
    tile(first, Min(kHeadRows, states - first));
  }
}

// A layer over `count` states; neighbouring items have neighbouring columns of the weights.
// finish(row, first, Four) takes four outputs of a row.
template <typename Block, typename MatrixOf, typename Finish>
EMPLACE_DEVICE void ForHeadLayer(Block& block, int32_t parts, const MatrixOf& matrix_of, int32_t part_in,
                                 int32_t part_out, const Rows& x, int32_t count, const Finish& finish) {
  const int32_t half = DivideUp(count, 2);
  const int32_t chunks = part_out / 4;
  block.ForEach(parts * half * chunks, [&](int32_t item) {
    const int32_t first = item % chunks * 4;
    const int32_t part = item / chunks % parts;
    const int32_t row = item / (chunks * parts);
    const int32_t second = row + half;
    const float* const inputs[2] = {x[row] + part * part_in, x[Min(second, count - 1)] + part * part_in};
    Four outputs[2];
    MatrixTile(matrix_of(part), inputs, first, outputs);
    finish(row, part * part_out + first, outputs[0]);
    if (second < count) finish(second, part * part_out + first, outputs[1]);
  });
}

// Computes pooled, the hidden layers and the logits from sums and own embeddings; -infinity for a device not allowed.
struct HeadForwardKernel {
  static constexpr const char* kName = "head_forward";

  PlacetoPlan plan;
  GraphsView graphs;
  BatchView batch;
  HeadArrays head;
  const float* packed;

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    ForHeadTiles(block, batch, [&](int32_t first, int32_t count) { Tile(block, first, count); });
  }

 private:
  template <typename Block>
  EMPLACE_DEVICE void Tile(Block& block, int32_t begin, int32_t count) const {
    const int32_t e = plan.embedding_padded;
    const Rows sums = HeadRowsAt(head.sums, kNumPools * e, begin);
    const Rows pool_hidden = HeadRowsAt(head.pool_hidden, kNumPools * e, begin);
    const Rows pooled = HeadRowsAt(head.pooled, (kNumPools + 1) * e, begin);
    const Rows hidden1 = HeadRowsAt(head.hidden1, plan.layers[kClassifier].out_padded, begin);
    const Rows hidden2 = HeadRowsAt(head.hidden2, plan.layers[kClassifier + 1].out_padded, begin);
    const Rows logits = HeadRowsAt(head.logits, plan.devices_padded, begin);
    const auto relu_into = [](const Rows& y) {
      return [y](int32_t row, int32_t first, const Four& value) { Store(y[row] + first, Relu(value)); };
    };
    const auto outer = [this](int32_t layer) {
      return [this, layer](int32_t set) {
        return ForwardMatrix(plan.layers[kPools + kLayersPerPool * set + 2 + layer], packed);
      };
    };
    const auto classifier = [this](int32_t layer) {
      return [this, layer](int32_t) { return ForwardMatrix(plan.layers[kClassifier + layer], packed); };
    };
    if (plan.pooling != 0) {
      ForHeadLayer(block, kNumPools, outer(0), e, e, sums, count, relu_into(pool_hidden));
      ForHeadLayer(block, kNumPools, outer(1), e, e, pool_hidden, count, relu_into(pooled));
    } else {
      const int32_t chunks = kNumPools * e / 4;
      block.ForEach(count * chunks, [&](int32_t item) { Store(pooled[item / chunks] + item % chunks * 4, Zeros()); });
    }
    ForHeadLayer(block, 1, classifier(0), 0, hidden1.stride, pooled, count, relu_into(hidden1));
    ForHeadLayer(block, 1, classifier(1), 0, hidden2.stride, hidden1, count, relu_into(hidden2));
    ForHeadLayer(block, 1, classifier(2), 0, logits.stride, hidden2, count,
                 [&](int32_t row, int32_t first, const Four& value) {
                   const StateView state = ViewState(graphs, batch, plan.num_devices, begin + row);
                   for (int32_t c = 0; c < 4 && first + c < plan.num_devices; ++c) {
                     logits[row][first + c] = state.allowed[first + c] != 0 ? value.at[c] : -INFINITY;
                   }
                 });
  }
};

// Computes the gradients of all layers' outputs, and those of the sums and own embeddings, from d_logits.
struct HeadBackwardKernel {
  static constexpr const char* kName = "head_backward";

  PlacetoPlan plan;
  BatchView batch;
  HeadArrays head;
  const float* packed;

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    ForHeadTiles(block, batch, [&](int32_t first, int32_t count) { Tile(block, first, count); });
  }

 private:
  template <typename Block>
  EMPLACE_DEVICE void Tile(Block& block, int32_t begin, int32_t count) const {
    const int32_t e = plan.embedding_padded;
    const int32_t first_width = plan.layers[kClassifier].out_padded;
    const int32_t second_width = plan.layers[kClassifier + 1].out_padded;
    const Rows d_logits = HeadRowsAt(head.d_logits, plan.devices_padded, begin);
    const Rows d_hidden2 = HeadRowsAt(head.d_hidden2, second_width, begin);
    const Rows d_hidden1 = HeadRowsAt(head.d_hidden1, first_width, begin);
    const Rows d_pooled = HeadRowsAt(head.d_pooled, (kNumPools + 1) * e, begin);
    const Rows d_pool_hidden = HeadRowsAt(head.d_pool_hidden, kNumPools * e, begin);
    const Rows d_sums = HeadRowsAt(head.d_sums, kNumPools * e, begin);
    const auto where_into = [](const Rows& activation, const Rows& gradient) {
      return [activation, gradient](int32_t row, int32_t first, const Four& value) {
        Store(gradient[row] + first, Where(Load(activation[row] + first), value));
      };
    };
    const auto outer = [this](int32_t layer) {
      return [this, layer](int32_t set) {
        return BackwardMatrix(plan.layers[kPools + kLayersPerPool * set + 2 + layer], packed);
      };
    };
    const auto classifier = [this](int32_t layer) {
      return [this, layer](int32_t) { return BackwardMatrix(plan.layers[kClassifier + layer], packed); };
    };
    ForHeadLayer(block, 1, classifier(2), 0, second_width, d_logits, count,
                 where_into(HeadRowsAt(head.hidden2, second_width, begin), d_hidden2));
    ForHeadLayer(block, 1, classifier(1), 0, first_width, d_hidden2, count,
                 where_into(HeadRowsAt(head.hidden1, first_width, begin), d_hidden1));
    const Rows pooled = HeadRowsAt(head.pooled, (kNumPools + 1) * e, begin);
    ForHeadLayer(block, 1, classifier(0), 0, d_pooled.stride, d_hidden1, count,
                 [&](int32_t row, int32_t first, const Four& value) {
                   // The current node's own embedding is no output of a relu.
                   const bool own = first >= kNumPools * e;
                   Store(d_pooled[row] + first, own ? value : Where(Load(pooled[row] + first), value));
                 });
    if (plan.pooling == 0) return;
    ForHeadLayer(block, kNumPools, outer(1), e, e, d_pooled, count,
                 where_into(HeadRowsAt(head.pool_hidden, kNumPools * e, begin), d_pool_hidden));
    ForHeadLayer(block, kNumPools, outer(0), e, e, d_pool_hidden, count,
                 [&](int32_t row, int32_t first, const Four& value) { Store(d_sums[row] + first, value); });
  }
};

// Weight gradients of the head, in kHeadSlices partial gradients.
struct HeadGradientKernel {
  static constexpr const char* kName = "head_gradient";

  PlacetoPlan plan;
  BatchView batch;
  HeadArrays head;
  float* partials;  // [kHeadSlices, head_parameters]

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    const int32_t e = plan.embedding_padded;
    const LayerPlan* const classifier = plan.layers + kClassifier;
    if (plan.pooling != 0) {
      for (int32_t set = 0; set < kNumPools; ++set) {
        const LayerPlan* const outer = plan.layers + kPools + kLayersPerPool * set + 2;
        Layer(block, outer[0], {head.d_pool_hidden + set * e, kNumPools * e}, {head.sums + set * e, kNumPools * e});
        Layer(block, outer[1], {head.d_pooled + set * e, (kNumPools + 1) * e},
              {head.pool_hidden + set * e, kNumPools * e});
      }
    } else {
      // In the head, the pools' parameters stand before the classifier's.
      const int32_t pools = classifier[0].partial;
      block.ForEachInGrid(kHeadSlices * pools, [&](int32_t item) {
        partials[static_cast<int64_t>(item / pools) * plan.head_parameters + item % pools] = 0.0F;
      });
    }
    Layer(block, classifier[0], {head.d_hidden1, classifier[0].out_padded}, {head.pooled, (kNumPools + 1) * e});
    Layer(block, classifier[1], {head.d_hidden2, classifier[1].out_padded}, {head.hidden1, classifier[0].out_padded});
    Layer(block, classifier[2], {head.d_logits, plan.devices_padded}, {head.hidden2, classifier[1].out_padded});
  }

 private:
  template <typename Block>
  EMPLACE_DEVICE void Layer(Block& block, const LayerPlan& layer, const Rows& dy, const Rows& x) const {
    const int32_t states = batch.scalars->num_states;
    const int32_t each = DivideUp(states, kHeadSlices);
    const int32_t tiles = TilesOf(layer);
    block.ForEachInGrid(kHeadSlices * tiles, [&](int32_t item) {
      const int32_t slice = item / tiles;
      const WeightTile tile = TileAt(layer, item % tiles);
      const int32_t begin = Min(states, slice * each);
      const WeightSums sums =
          SumWeightTile(dy, x, tile, begin, Min(states, begin + each), 1, [](int32_t state) { return state; });
      float* const partial = partials + static_cast<int64_t>(slice) * plan.head_parameters + layer.partial;
      for (int32_t o = 0; o < 4 && tile.out + o < layer.out; ++o) {
        const int32_t out = tile.out + o;
        for (int32_t c = 0; c < 4; ++c) {
          const int32_t padded = tile.in + c;
          if (padded % layer.segment_padded >= layer.segment) continue;
          const int32_t in = padded / layer.segment_padded * layer.segment + padded % layer.segment_padded;
          partial[out * layer.in + in] = sums.weight[o].at[c];
        }
        if (tile.in == 0) partial[layer.in * layer.out + out] = sums.bias.at[o];
      }
    });
  }
};

}  // namespace emplace::gpu
