// Computes the next weights from partial gradients: the sum over blocks, its norm, clipping, Adam, and packing for
// the next forward pass. All sums have a fixed order; there are no atomics.
#pragma once

#include <cmath>

#include "policy/adam.h"
#include "policy/placeto/cuda/tiles.h"
#include "policy/placeto/cuda/workspace.h"

namespace emplace::gpu {

// Packs the flat parameters: each weight matrix for the forward pass, and transposed for the backward pass.
struct PackKernel {
  static constexpr const char* kName = "pack";

  PlacetoPlan plan;
  const float* values;  // [parameters]
  float* packed;

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    for (int32_t i = 0; i < kNumLayers; ++i) {
      const LayerPlan& layer = plan.layers[i];
      const int32_t weights = layer.in_padded * layer.out_padded;
      block.ForEachInGrid(weights + layer.out_padded, [&](int32_t item) {
        if (item >= weights) {
          const int32_t out = item - weights;
          packed[layer.bias + out] = out < layer.out ? values[layer.flat + layer.in * layer.out + out] : 0.0F;
          return;
        }
        const int32_t out = item / layer.in_padded;
        const int32_t padded = item % layer.in_padded;
        const int32_t column = padded % layer.segment_padded;
        const bool real = out < layer.out && column < layer.segment;
        const int32_t in = padded / layer.segment_padded * layer.segment + column;
        const float value = real ? values[layer.flat + out * layer.in + in] : 0.0F;
        packed[layer.backward + item] = value;
        packed[layer.forward + padded * layer.out_padded + out] = value;
      });
    }
  }
};

// Sums the partial gradients to the gradient, and computes the sum of its squares in each chunk of parameters.
struct ReduceKernel {
  static constexpr const char* kName = "reduce";
  static constexpr int32_t kSlices = 8;  // Slices into which the rows of partial gradients are divided.
  static constexpr int32_t kSharedFloats = (kSlices + 1) * kReduceChunk;

  PlacetoPlan plan;
  Workspace work;
  int32_t body_partials;  // Rows of body_partials

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    for (int32_t chunk = block.rank(); chunk < plan.chunks; chunk += block.ranks()) Chunk(block, chunk);
  }

 private:
  template <typename Block>
  EMPLACE_DEVICE void Chunk(Block& block, int32_t chunk) const {
    int32_t index = 0;
    while (index + 1 < kNumLayers && plan.layers[index + 1].chunk <= chunk) ++index;
    const LayerPlan& layer = plan.layers[index];
    const bool head = IsHeadLayer(index);
    const int32_t first = (chunk - layer.chunk) * kReduceChunk;
    const int32_t count = Min(kReduceChunk, layer.parameters() - first);
    const float* const partials = (head ? work.head_partials : work.body_partials) + layer.partial + first;
    const int32_t rows = head ? kHeadSlices : body_partials;
    const int64_t stride = head ? plan.head_parameters : plan.body_parameters;
    float* const slices = block.shared();
    float* const sums = slices + kSlices * kReduceChunk;
    block.ForEach(kSlices * count, [&](int32_t item) {
      const int32_t slice = item / count;
      const int32_t parameter = item % count;
      float sum = 0.0F;
      for (int32_t row = slice; row < rows; row += kSlices) sum += partials[row * stride + parameter];
      slices[slice * kReduceChunk + parameter] = sum;
    });
    block.ForEach(count, [&](int32_t parameter) {
      float sum = 0.0F;
      for (int32_t slice = 0; slice < kSlices; ++slice) sum += slices[slice * kReduceChunk + parameter];
      sums[parameter] = sum;
      work.gradient[layer.flat + first + parameter] = sum;
    });
    block.ForEach(1, [&](int32_t) {
      double squares = 0;
      for (int32_t i = 0; i < count; ++i) squares += static_cast<double>(sums[i]) * static_cast<double>(sums[i]);
      work.chunk_squares[chunk] = squares;
    });
  }
};

// Runs in one block. Computes the sums over states and over the gradient, the step's control and the report.
struct FinishKernel {
  static constexpr const char* kName = "finish";
  static constexpr int32_t kSlices = 256;
  static constexpr int32_t kSums = 4;
  static constexpr int32_t kSharedFloats = 2 * kSums * kSlices;

  PlacetoPlan plan;
  BatchView batch;
  Workspace work;
  int64_t* adam_steps;
  UpdateReport* report;

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    auto* const sums = reinterpret_cast<double*>(block.shared());  // [kSums, kSlices]
    const int32_t states = batch.scalars->num_states;
    block.ForEach(kSlices, [&](int32_t slice) {
      sums[slice] = SumOf(work.state_loss, slice, states);
      sums[kSlices + slice] = SumOf(work.state_entropy, slice, states);
      sums[2 * kSlices + slice] = SumOf(work.state_ratio, slice, states);
      double squares = 0;
      for (int32_t i = slice; i < plan.chunks; i += kSlices) squares += work.chunk_squares[i];
      sums[3 * kSlices + slice] = squares;
    });
    block.ForEach(kSums, [&](int32_t sum) {
      double total = 0;
      for (int32_t slice = 0; slice < kSlices; ++slice) total += sums[sum * kSlices + slice];
      sums[sum * kSlices] = total;
    });
    block.ForEach(1, [&](int32_t) { Finish(sums, states); });
  }

 private:
  EMPLACE_DEVICE static double SumOf(const float* values, int32_t slice, int32_t count) {
    double sum = 0;
    for (int32_t i = slice; i < count; i += kSlices) sum += static_cast<double>(values[i]);
    return sum;
  }

  EMPLACE_DEVICE void Finish(const double* sums, int32_t states) const {
    const UpdateScalars& scalars = *batch.scalars;
    const double norm = std::sqrt(sums[3 * kSlices]);
    const bool finite = norm < static_cast<double>(INFINITY);  // False for NaN too.
    const int64_t steps = *adam_steps + (finite ? 1 : 0);
    *adam_steps = steps;
    StepControl& control = *work.control;
    const double clipped = scalars.gradient_clip / (norm > 1e-12 ? norm : 1e-12);
    control.scale = clipped < 1 ? clipped : 1;
    control.learning_rate = scalars.learning_rate;
    control.correction_mean = 1 - std::pow(kAdamBeta1, static_cast<double>(steps));
    control.correction_variance = 1 - std::pow(kAdamBeta2, static_cast<double>(steps));
    control.apply = finite ? 1 : 0;
    report->loss = sums[0] / states;
    report->entropy = sums[kSlices] / states;
    report->mean_importance = sums[2 * kSlices] / states;
    report->gradient_norm = norm;
    report->adam_steps = steps;
    report->applied = control.apply;
  }
};

// Adam with its state in float and its arithmetic in double, as on the CPU.
struct AdamKernel {
  static constexpr const char* kName = "adam";

  PlacetoPlan plan;
  Workspace work;
  float* values;  // [parameters]; mean, variance and copy have the same size
  float* mean;
  float* variance;
  float* copy;  // Receives the new values for the host

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    block.ForEachInGrid(plan.parameters, [&](int32_t i) {
      const StepControl& control = *work.control;
      if (control.apply != 0) {
        const double gradient = control.scale * static_cast<double>(work.gradient[i]);
        const double new_mean = kAdamBeta1 * static_cast<double>(mean[i]) + (1 - kAdamBeta1) * gradient;
        const double new_variance =
            kAdamBeta2 * static_cast<double>(variance[i]) + (1 - kAdamBeta2) * gradient * gradient;
        mean[i] = static_cast<float>(new_mean);
        variance[i] = static_cast<float>(new_variance);
        const double step = control.learning_rate * (new_mean / control.correction_mean) /
                            (std::sqrt(new_variance / control.correction_variance) + kAdamEpsilon);
        values[i] = static_cast<float>(static_cast<double>(values[i]) - step);
      }
      copy[i] = values[i];
    });
  }
};

}  // namespace emplace::gpu
