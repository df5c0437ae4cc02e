// Layers over rows, which are nodes or states. A layer walks its inputs: each is broadcast and multiplied with a
// contiguous row of weights. Every output therefore adds bias, input 0, input 1, ... in this order however rows are
// tiled, and the paths that fuse multiply and add give equal bits. Included by kernel_impl.h.
#pragma once

#include <cstdint>

#include "policy/placeto/kernel/kernel_plan.h"

namespace emplace {
namespace {

// Outputs [first, first + kVecs registers) of kRows rows. kStride: the stride of x, or 0 if it is not known at
// compile time.
template <typename V, bool kRelu, int kRows, int kVecs, int kStride>
inline void LayerTile(const PackedLayer& layer, const float* x, int64_t x_stride, float* y, int64_t y_stride,
                      int32_t first) {
  const int64_t stride = kStride > 0 ? kStride : x_stride;
  // Unrolled by name: at -O2 the sums would otherwise live in memory, not in registers.
  V sums[static_cast<unsigned>(kRows)][static_cast<unsigned>(kVecs)];
#pragma GCC unroll 16
  for (int v = 0; v < kVecs; ++v) {
    const V bias = V::Load(layer.bias + first + v * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r][v] = bias;
  }
  const float* weight = layer.weight + first;
  for (int32_t i = 0; i < layer.in; ++i, weight += layer.padded_out) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      const V column = V::Load(weight + v * V::kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r][v] = V::MultiplyAdd(V::Broadcast(x + r * stride + i), column, sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      const V sum = kRelu ? V::Relu(sums[r][v]) : sums[r][v];
      sum.Store(y + r * y_stride + first + v * V::kLanes);
    }
  }
}

// All outputs of kRows rows, kVecs registers at a time as long as so many are left.
template <bool kRelu, int kRows, int kVecs, int kStride>
inline void LayerRows(const PackedLayer& layer, const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  int32_t first = 0;
  for (; first + kVecs * Vec::kLanes <= layer.padded_out; first += kVecs * Vec::kLanes) {
    LayerTile<Vec, kRelu, kRows, kVecs, kStride>(layer, x, x_stride, y, y_stride, first);
  }
  for (; first + Vec::kLanes <= layer.padded_out; first += Vec::kLanes) {
    LayerTile<Vec, kRelu, kRows, 1, kStride>(layer, x, x_stride, y, y_stride, first);
  }
  if constexpr (NarrowVec::kLanes < Vec::kLanes) {
    if (first < layer.padded_out)
      LayerTile<NarrowVec, kRelu, kRows, 1, kStride>(layer, x, x_stride, y, y_stride, first);
  }
}

// y [kTile] = the layer of a tile of rows.
template <bool kRelu>
inline void LayerTileRows(const PackedLayer& layer, const float* x, int64_t x_stride, float* y, int64_t y_stride) {
  if (x_stride == 8) return LayerRows<kRelu, kTile, 1, 8>(layer, x, x_stride, y, y_stride);
  if (x_stride == 16) return LayerRows<kRelu, kTile, 1, 16>(layer, x, x_stride, y, y_stride);
  return LayerRows<kRelu, kTile, 1, 0>(layer, x, x_stride, y, y_stride);
}

// y [kTile, padded out] = relu(output(relu(hidden(x)))) of a tile of rows. hidden: scratch of the same size.
inline void MlpTile(const PackedMlp& mlp, const float* x, int64_t x_stride, float* hidden, float* y) {
  LayerTileRows<true>(mlp.hidden, x, x_stride, hidden, mlp.hidden.padded_out);
  LayerTileRows<true>(mlp.output, hidden, mlp.hidden.padded_out, y, mlp.output.padded_out);
}

// Computes a layer for any number of rows.
template <bool kRelu>
inline void LayerAllRows(const PackedLayer& layer, const float* x, int64_t x_stride, int32_t count, float* y,
                         int64_t y_stride) {
  int32_t row = 0;
  for (; row + kTile <= count; row += kTile) {
    LayerRows<kRelu, kTile, Vec::kRegisters >= 32 ? 2 : 1, 0>(layer, x + row * x_stride, x_stride, y + row * y_stride,
                                                              y_stride);
  }
  for (; row < count; ++row) {
    LayerRows<kRelu, 1, 4, 0>(layer, x + row * x_stride, x_stride, y + row * y_stride, y_stride);
  }
}

// target = the sum of the listed rows, in the order of the list. kStride: as above.
template <typename V, int kStride>
inline void SumPart(const int32_t* list, int32_t count, const float* rows, int64_t runtime_stride, float* target) {
  const int64_t stride = kStride > 0 ? kStride : runtime_stride;
  V sum = V::Zero();
  for (int32_t i = 0; i < count; ++i) sum = V::Add(sum, V::Load(rows + list[i] * stride));
  sum.Store(target);
}
template <int kStride>
inline void SumRows(const int32_t* list, int32_t count, const float* rows, int64_t runtime_stride, float* target) {
  const int64_t stride = kStride > 0 ? kStride : runtime_stride;
  int32_t first = 0;
  for (; first + Vec::kLanes <= stride; first += Vec::kLanes) {
    SumPart<Vec, kStride>(list, count, rows + first, stride, target + first);
  }
  if constexpr (NarrowVec::kLanes < Vec::kLanes) {
    if (first < stride) SumPart<NarrowVec, kStride>(list, count, rows + first, stride, target + first);
  }
}

template <int kStride>
inline void CopyRow(const float* from, float* to, int64_t runtime_stride) {
  const int64_t stride = kStride > 0 ? kStride : runtime_stride;
  for (int64_t i = 0; i < stride; i += kRowLanes) NarrowVec::Load(from + i).Store(to + i);
}

}  // namespace
}  // namespace emplace
