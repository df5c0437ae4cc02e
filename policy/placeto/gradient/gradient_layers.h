// The arithmetic of layers on rows of lanes, over the path's `Vec`. Included by gradient_impl.h. Every sum has one
// fixed order, so equal input gives equal bits.
#pragma once

#include <cstdint>

#include "policy/placeto/gradient/gradient_plan.h"

namespace emplace {
namespace {

// Outputs of a tile of 4 rows: with their inputs, as many sums as the processor has registers for.
constexpr int kTileRows = 4;
constexpr int kTileOuts = Vec::kRegisters >= 32 ? 4 : 2;
// Outputs at a time of a single row.
constexpr int kRowOuts = 8;

// The operation on a product before it is stored.
enum class After { kStore, kRelu, kAdd, kWherePositive };

// A matrix that weights are taken from: element (out, in) is data[out * out_stride + in * in_stride].
struct WeightView {
  const float* data;
  int64_t out_stride;
  int64_t in_stride;
  int32_t outs;
  int32_t ins;
};
inline WeightView Weights(const GradientLayer& layer) { return {layer.weight, layer.in, 1, layer.out, layer.in}; }
inline WeightView Transposed(const GradientLayer& layer) { return {layer.weight, 1, layer.in, layer.in, layer.out}; }

// y[row][out] = after(bias[out] + sum over in of weight(out, in) * x[row][in]) for kRows rows and kOuts outputs from
// `out`. `by`: rows whose signs After::kWherePositive uses.
template <After kAfter, int kRows, int kOuts>
inline void MultiplyTile(const WeightView& weight, const float* bias, const float* const* x, float* const* y,
                         const float* const* by, int32_t out) {
  Vec sums[static_cast<unsigned>(kRows)][static_cast<unsigned>(kOuts)];
#pragma GCC unroll 16
  for (int o = 0; o < kOuts; ++o) {
    const Vec start = bias == nullptr ? Vec::Zero() : Vec::Broadcast(bias + out + o);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r][o] = start;
  }
  const float* column = weight.data + out * weight.out_stride;
  for (int32_t in = 0; in < weight.ins; ++in, column += weight.in_stride) {
    Vec values[static_cast<unsigned>(kRows)];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) values[r] = Vec::Load(x[r] + in * Vec::kLanes);
#pragma GCC unroll 16
    for (int o = 0; o < kOuts; ++o) {
      const Vec one = Vec::Broadcast(column + o * weight.out_stride);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r][o] = Vec::MultiplyAdd(one, values[r], sums[r][o]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int o = 0; o < kOuts; ++o) {
      const int64_t at = int64_t{out + o} * Vec::kLanes;
      Vec sum = sums[r][o];
      if constexpr (kAfter == After::kRelu) sum = Vec::Relu(sum);
      if constexpr (kAfter == After::kAdd) sum = Vec::Add(Vec::Load(y[r] + at), sum);
      if constexpr (kAfter == After::kWherePositive) sum = Vec::WherePositive(Vec::Load(by[r] + at), sum);
      sum.Store(y[r] + at);
    }
  }
}

template <After kAfter, int kRows, int kOuts>
inline void MultiplyOuts(const WeightView& weight, const float* bias, const float* const* x, float* const* y,
                         const float* const* by) {
  int32_t out = 0;
  for (; out + kOuts <= weight.outs; out += kOuts) MultiplyTile<kAfter, kRows, kOuts>(weight, bias, x, y, by, out);
  if constexpr (kOuts > 1) {
    for (; out < weight.outs; ++out) MultiplyTile<kAfter, kRows, 1>(weight, bias, x, y, by, out);
  }
}

// All outputs for the kPanel rows.
template <After kAfter>
inline void MultiplyPanel(const WeightView& weight, const float* bias, const float* const* x, float* const* y,
                          const float* const* by = nullptr) {
  for (int32_t row = 0; row < kPanel; row += kTileRows) {
    MultiplyOuts<kAfter, kTileRows, kTileOuts>(weight, bias, x + row, y + row, by == nullptr ? nullptr : by + row);
  }
}

// All outputs for a single row.
template <After kAfter>
inline void MultiplyRow(const WeightView& weight, const float* bias, const float* x, float* y,
                        const float* by = nullptr) {
  MultiplyOuts<kAfter, 1, kRowOuts>(weight, bias, &x, &y, &by);
}

template <int kOuts, int kIns>
inline void AddOuterTile(const GradientLayer& layer, const float* const* x, const float* const* delta, int32_t out,
                         int32_t in) {
  Vec sums[static_cast<unsigned>(kOuts)][static_cast<unsigned>(kIns)];
  float* const target = layer.weight_sum + (int64_t{out} * layer.in + in) * Vec::kLanes;
#pragma GCC unroll 16
  for (int o = 0; o < kOuts; ++o) {
#pragma GCC unroll 16
    for (int i = 0; i < kIns; ++i) sums[o][i] = Vec::Load(target + (int64_t{o} * layer.in + i) * Vec::kLanes);
  }
  for (int32_t row = 0; row < kPanel; ++row) {
    Vec values[static_cast<unsigned>(kIns)];
#pragma GCC unroll 16
    for (int i = 0; i < kIns; ++i) values[i] = Vec::Load(x[row] + (in + i) * Vec::kLanes);
#pragma GCC unroll 16
    for (int o = 0; o < kOuts; ++o) {
      const Vec one = Vec::Load(delta[row] + (out + o) * Vec::kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kIns; ++i) sums[o][i] = Vec::MultiplyAdd(one, values[i], sums[o][i]);
    }
  }
#pragma GCC unroll 16
  for (int o = 0; o < kOuts; ++o) {
#pragma GCC unroll 16
    for (int i = 0; i < kIns; ++i) sums[o][i].Store(target + (int64_t{o} * layer.in + i) * Vec::kLanes);
  }
}

template <int kOuts>
inline void AddOuterIns(const GradientLayer& layer, const float* const* x, const float* const* delta, int32_t out) {
  int32_t in = 0;
  for (; in + 4 <= layer.in; in += 4) AddOuterTile<kOuts, 4>(layer, x, delta, out, in);
  for (; in < layer.in; ++in) AddOuterTile<kOuts, 1>(layer, x, delta, out, in);
}

inline void AddRow(const float* from, float* to, int32_t width) {
  for (int32_t i = 0; i < width * Vec::kLanes; i += Vec::kLanes)
    Vec::Add(Vec::Load(to + i), Vec::Load(from + i)).Store(to + i);
}

// Adds the gradient of a layer's parameters over the panel. Rows that pad it have zeros in `delta`.
inline void AddLayerGradient(const GradientLayer& layer, const float* const* x, const float* const* delta) {
  int32_t out = 0;
  for (; out + kTileOuts <= layer.out; out += kTileOuts) AddOuterIns<kTileOuts>(layer, x, delta, out);
  for (; out < layer.out; ++out) AddOuterIns<1>(layer, x, delta, out);
  for (int32_t row = 0; row < kPanel; ++row) AddRow(delta[row], layer.bias_sum, layer.out);
}

// Adds the gradient of a head layer's parameters over the lanes of its one row. transposed: [L, padded in] scratch.
inline void AddHeadGradient(const GradientLayer& layer, const float* x, const float* delta, float* transposed) {
  const int32_t padded = (layer.in + Vec::kLanes - 1) / Vec::kLanes * Vec::kLanes;
  for (int32_t lane = 0; lane < Vec::kLanes; ++lane) {
    float* const row = transposed + lane * padded;
    for (int32_t in = 0; in < layer.in; ++in) row[in] = x[in * Vec::kLanes + lane];
    for (int32_t in = layer.in; in < padded; ++in) row[in] = 0;
  }
  for (int32_t out = 0; out < layer.out; ++out) {
    for (int32_t in = 0; in < padded; in += Vec::kLanes) {
      float* const target = layer.weight_sum + int64_t{out} * padded + in;
      // Two sums, each half as long a chain.
      Vec even = Vec::Load(target);
      Vec odd = Vec::Zero();
#pragma GCC unroll 16
      for (int32_t lane = 0; lane < Vec::kLanes; lane += 2) {
        even = Vec::MultiplyAdd(Vec::Broadcast(delta + out * Vec::kLanes + lane),
                                Vec::Load(transposed + lane * padded + in), even);
        odd = Vec::MultiplyAdd(Vec::Broadcast(delta + out * Vec::kLanes + lane + 1),
                               Vec::Load(transposed + (lane + 1) * padded + in), odd);
      }
      Vec::Add(even, odd).Store(target);
    }
  }
  AddRow(delta, layer.bias_sum, layer.out);
}

// target [width] = the sum of the listed rows, in the order of the list.
inline void SumRows(const int32_t* list, int32_t count, const float* rows, int64_t stride, float* target,
                    int32_t width) {
  constexpr int32_t kBlock = 4;
  int32_t column = 0;
  for (; column + kBlock <= width; column += kBlock) {
    const float* const base = rows + column * Vec::kLanes;
    Vec sums[kBlock] = {Vec::Zero(), Vec::Zero(), Vec::Zero(), Vec::Zero()};
    for (int32_t i = 0; i < count; ++i) {
      const float* const row = base + list[i] * stride;
#pragma GCC unroll 4
      for (int32_t c = 0; c < kBlock; ++c) sums[c] = Vec::Add(sums[c], Vec::Load(row + c * Vec::kLanes));
    }
#pragma GCC unroll 4
    for (int32_t c = 0; c < kBlock; ++c) sums[c].Store(target + (column + c) * Vec::kLanes);
  }
  for (; column < width; ++column) {
    Vec sum = Vec::Zero();
    for (int32_t i = 0; i < count; ++i) sum = Vec::Add(sum, Vec::Load(rows + list[i] * stride + column * Vec::kLanes));
    sum.Store(target + column * Vec::kLanes);
  }
}

inline void CopyRow(const float* from, float* to, int32_t width) {
  for (int32_t i = 0; i < width * Vec::kLanes; i += Vec::kLanes) Vec::Load(from + i).Store(to + i);
}

inline void ZeroRow(float* to, int32_t width) {
  for (int32_t i = 0; i < width * Vec::kLanes; i += Vec::kLanes) Vec::Zero().Store(to + i);
}

// delta = 0 where `by` is not positive: back through a relu whose output is `by`.
inline void BackThroughRelu(const float* by, float* delta, int32_t width) {
  for (int32_t i = 0; i < width * Vec::kLanes; i += Vec::kLanes) {
    Vec::WherePositive(Vec::Load(by + i), Vec::Load(delta + i)).Store(delta + i);
  }
}

}  // namespace
}  // namespace emplace
