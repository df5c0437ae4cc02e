// The inner loops of all kernels: a few rows times a few columns of a layer, and of a weight gradient, in registers.
#pragma once

#include <cstddef>

#include "policy/placeto/cuda/placeto_plan.h"

namespace emplace::gpu {

// Four floats that are loaded and stored at once.
struct alignas(16) Four {
  float at[4];
};
EMPLACE_DEVICE Four Zeros() { return {{0.0F, 0.0F, 0.0F, 0.0F}}; }
// Load and Store are one instruction each on the device.
EMPLACE_DEVICE Four Load(const float* from) {
#ifdef __CUDA_ARCH__
  const float4 value = *reinterpret_cast<const float4*>(from);
  return {{value.x, value.y, value.z, value.w}};
#else
  return *reinterpret_cast<const Four*>(from);
#endif
}
EMPLACE_DEVICE void Store(float* to, const Four& value) {
#ifdef __CUDA_ARCH__
  // The two halves of one integer are stored: nvcc would store a struct of four floats in four instructions.
  const auto pair = [](float low, float high) {
    return static_cast<unsigned __int128>(__float_as_uint(low) | static_cast<uint64_t>(__float_as_uint(high)) << 32);
  };
  *reinterpret_cast<unsigned __int128*>(to) = pair(value.at[0], value.at[1]) | pair(value.at[2], value.at[3]) << 64;
#else
  *reinterpret_cast<Four*>(to) = value;
#endif
}
// Loads from memory that nothing writes during the launch.
EMPLACE_DEVICE Four LoadConstant(const float* from) {
#ifdef __CUDA_ARCH__
  const float4 value = __ldg(reinterpret_cast<const float4*>(from));
  return {{value.x, value.y, value.z, value.w}};
#else
  return Load(from);
#endif
}

// NaN stays NaN, so that a broken update shows in the gradient.
EMPLACE_DEVICE float Relu(float value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(result) : "f"(value));
  return result;
#else
  return value < 0.0F ? 0.0F : value;
#endif
}
EMPLACE_DEVICE Four Relu(Four value) {
  for (int c = 0; c < 4; ++c) value.at[c] = Relu(value.at[c]);
  return value;
}
// Keeps `value` where the activation was positive; the rest becomes 0.
EMPLACE_DEVICE Four Where(const Four& activation, Four value) {
  for (int c = 0; c < 4; ++c) value.at[c] = activation.at[c] > 0.0F ? value.at[c] : 0.0F;
  return value;
}
EMPLACE_DEVICE Four Sum(Four a, const Four& b) {
  for (int c = 0; c < 4; ++c) a.at[c] += b.at[c];
  return a;
}

// A row-major matrix; a row starts at a multiple of 16 bytes.
struct Rows {
  float* data;
  int32_t stride;

  EMPLACE_DEVICE float* operator[](int32_t row) const { return data + row * stride; }
};
// The stride of rows in shared memory. Neighbouring threads read neighbouring rows, four floats each: strides that are
// multiples of 16 floats would hit the same banks.
EMPLACE_HOST_DEVICE int32_t RowStride(int32_t padded_width) {
  return padded_width % 16 == 0 ? padded_width + 4 : padded_width;
}

// Packed parameters: y = x * weight + bias.
struct Matrix {
  const float* weight;  // [in, out]
  const float* bias;    // [out] or null
  int32_t in;
  int32_t out;
};
EMPLACE_DEVICE Matrix ForwardMatrix(const LayerPlan& layer, const float* packed) {
  return {packed + layer.forward, packed + layer.bias, layer.in_padded, layer.out_padded};
}
EMPLACE_DEVICE Matrix BackwardMatrix(const LayerPlan& layer, const float* packed) {
  return {packed + layer.backward, nullptr, layer.out_padded, layer.in_padded};
}

// y[r] = columns [first, first + 4) of x[r] times the matrix; inputs are added in order.
template <size_t kRows>
EMPLACE_DEVICE void MatrixTile(const Matrix& matrix, const float* const (&x)[kRows], int32_t first, Four (&y)[kRows]) {
  const Four bias = matrix.bias != nullptr ? LoadConstant(matrix.bias + first) : Zeros();
  for (size_t r = 0; r < kRows; ++r) y[r] = bias;
  const float* weight = matrix.weight + first;
  for (int32_t i = 0; i < matrix.in; i += 4) {
    Four inputs[kRows];
    for (size_t r = 0; r < kRows; ++r) inputs[r] = Load(x[r] + i);
    for (int j = 0; j < 4; ++j, weight += matrix.out) {
      const Four column = LoadConstant(weight);
      for (size_t r = 0; r < kRows; ++r) {
        for (int c = 0; c < 4; ++c) y[r].at[c] += inputs[r].at[j] * column.at[c];
      }
    }
  }
}

// Items of one layer over `count` rows: two rows and four outputs each. Neighbouring items have neighbouring rows and
// the same weights.
EMPLACE_DEVICE int32_t LayerItems(const Matrix& matrix, int32_t count) { return DivideUp(count, 2) * (matrix.out / 4); }
// finish(row, first, Four): takes columns [first, first + 4) of a row of y.
template <typename Finish>
EMPLACE_DEVICE void LayerItem(const Matrix& matrix, const Rows& x, int32_t count, int32_t item, const Finish& finish) {
  const int32_t half = DivideUp(count, 2);
  const int32_t row = item % half;
  const int32_t first = item / half * 4;
  const int32_t second = row + half;
  // An odd last row is computed twice rather than in another shape of loop.
  const float* const inputs[2] = {x[row], x[Min(second, count - 1)]};
  Four outputs[2];
  MatrixTile(matrix, inputs, first, outputs);
  finish(row, first, outputs[0]);
  if (second < count) finish(second, first, outputs[1]);
}

// The layer's output for all `count` rows, then a barrier.
template <typename Block, typename Finish>
EMPLACE_DEVICE void ForLayer(Block& block, const Matrix& matrix, const Rows& x, int32_t count, const Finish& finish) {
  block.ForEach(LayerItems(matrix, count), [&](int32_t item) { LayerItem(matrix, x, count, item, finish); });
}
template <typename Block>
EMPLACE_DEVICE void ReluLayer(Block& block, const Matrix& matrix, const Rows& x, int32_t count, const Rows& y) {
  ForLayer(block, matrix, x, count,
           [&](int32_t row, int32_t first, const Four& value) { Store(y[row] + first, Relu(value)); });
}
// dx = dy times W where the activation x is positive.
template <typename Block>
EMPLACE_DEVICE void InputGradient(Block& block, const Matrix& matrix, const Rows& dy, int32_t count, const Rows& x,
                                  const Rows& dx) {
  ForLayer(block, matrix, dy, count, [&](int32_t row, int32_t first, const Four& value) {
    Store(dx[row] + first, Where(Load(x[row] + first), value));
  });
}

// Sums of weight gradients: dW [out, in] tile by tile of 4 x 4, and db. Each slice adds every slices-th row.
struct WeightTile {
  int32_t out;  // First output
  int32_t in;   // First input
};
EMPLACE_HOST_DEVICE int32_t TilesOf(const LayerPlan& layer) { return layer.out_padded / 4 * (layer.in_padded / 4); }
EMPLACE_DEVICE WeightTile TileAt(const LayerPlan& layer, int32_t index) {
  const int32_t across = layer.in_padded / 4;
  return {index / across * 4, index % across * 4};
}
struct WeightSums {
  Four weight[4];  // [out][in]
  Four bias;       // [out]
};
// row_of(i) is the i-th row, i = begin, begin + step, ... < end.
template <typename RowOf>
EMPLACE_DEVICE WeightSums SumWeightTile(const Rows& dy, const Rows& x, WeightTile tile, int32_t begin, int32_t end,
                                        int32_t step, const RowOf& row_of) {
  WeightSums sums = {{Zeros(), Zeros(), Zeros(), Zeros()}, Zeros()};
  for (int32_t i = begin; i < end; i += step) {
    const int32_t row = row_of(i);
    const Four gradient = Load(dy[row] + tile.out);
    const Four input = Load(x[row] + tile.in);
    for (int o = 0; o < 4; ++o) {
      for (int c = 0; c < 4; ++c) sums.weight[o].at[c] += gradient.at[o] * input.at[c];
    }
    sums.bias = Sum(sums.bias, gradient);
  }
  return sums;
}

}  // namespace emplace::gpu
