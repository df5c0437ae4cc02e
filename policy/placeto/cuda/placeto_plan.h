// Positions of each layer's parameters: in the flat vector of PlacetoLayers, in the packed weights of the kernels, and
// in the partial gradients of the blocks. A plain struct, which is passed to kernels as an argument.
#pragma once

#include <cstdint>

#include "policy/placeto/cuda/block.h"
#include "policy/placeto/placeto_layout.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {

// Parameters that a block sums over the partial gradients at a time.
inline constexpr int32_t kReduceChunk = 32;

// y = W x + b. Rows of x and y are padded; what the padding multiplies is zero.
struct LayerPlan {
  int32_t in;
  int32_t out;
  int32_t in_padded;
  int32_t out_padded;
  // The input is a concatenation of parts of this width, each padded on its own: column i of W belongs to
  // x[i / segment * segment_padded + i % segment].
  int32_t segment;
  int32_t segment_padded;
  int32_t flat;      // Index into the flat vector: weight [out, in], then bias [out].
  int32_t forward;   // Index into the packed weights: [in_padded, out_padded], for y from x.
  int32_t bias;      // Index into the packed weights: [out_padded].
  int32_t backward;  // Index into the packed weights: [out_padded, in_padded], for dx from dy.
  int32_t partial;   // Index into a row of partial gradients of the body or the head, ordered as the flat vector.
  int32_t chunk;     // Index of its first chunk of kReduceChunk parameters.

  EMPLACE_HOST_DEVICE int32_t parameters() const { return (in + 1) * out; }
};

// The layers that run once for a node (self, f, g, F) are the body: one block works on one state. The layers that run
// once for a state (G and the classifier) are the head: their rows are states.
EMPLACE_HOST_DEVICE constexpr bool IsHeadLayer(int32_t layer) {
  return layer >= kClassifier || (layer >= kPools && (layer - kPools) % kLayersPerPool >= 2);
}

struct PlacetoPlan {
  int32_t num_devices;
  int32_t devices_padded;
  int32_t memory_feature;  // 0 or 1
  int32_t pooling;         // 0 or 1
  int32_t rounds;          // k
  int32_t features;        // F
  int32_t features_padded;
  int32_t width;  // m
  int32_t width_padded;
  int32_t embedding;  // e = 2m
  int32_t embedding_padded;
  int32_t parameters;
  int32_t packed_floats;
  int32_t body_parameters;
  int32_t head_parameters;
  int32_t chunks;  // Number of chunks of kReduceChunk parameters, over all layers.
  LayerPlan layers[kNumLayers];
};

PlacetoPlan MakePlacetoPlan(const PlacetoShape& shape);

}  // namespace emplace::gpu
