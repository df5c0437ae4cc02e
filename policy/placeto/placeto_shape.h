// The sizes of a Placeto policy network, and the list of its layers. This one list orders the parameters in the
// kernels, in LibTorch and in policy.safetensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/placeto/placeto_features.h"
#include "policy/policy_shape.h"

namespace emplace {

// All but num_devices are keys of section `policy`; the table in placeto_kind.cc has their ranges.
struct PlacetoShape {
  int32_t num_devices = 2;
  bool memory_feature = false;
  int32_t message_rounds = 8;  // k
  int32_t message_width = 0;   // m; 0: the number of features
  // false: the outputs of G for the three sets are zeros. The layers of the pools and the classifier's columns for them
  // stay, but have no effect and do not learn.
  bool pooling = true;
  bool start_times = false;  // PlacetoState::start_times is a feature.

  // The same as the shape of any policy, and back. REQUIRES: its kind is placeto, and it has the sizes of the kind.
  operator PolicyShape() const;  // NOLINT(google-explicit-constructor): a Placeto shape is a policy's.
  static PlacetoShape Of(const PolicyShape& shape);

  // The features of a node, in the order of placeto_features.h.
  int32_t num_features() const { return 4 + num_devices + (memory_feature ? 1 : 0) + (start_times ? 1 : 0); }
  NodeFeatures node_features() const {
    return {.num_devices = num_devices, .memory = memory_feature, .start_time = start_times};
  }
  int32_t width() const { return message_width > 0 ? message_width : num_features(); }  // m
  int32_t embedding_width() const { return 2 * width(); }                               // e: both directions
  int32_t pooled_width() const { return 4 * embedding_width(); }  // D: the three sets and the current node

  bool operator==(const PlacetoShape&) const = default;
};

// A fully connected layer y = W x + b; weight is [out, in] row-major as in torch.nn.Linear.
struct LayerSpec {
  std::string name;  // "forward.f.0"; its parameters are name + ".weight" and name + ".bias"
  int32_t in = 0;
  int32_t out = 0;
};

// All layers, in the order of the flat parameter vector (each: weight, then bias):
//   self.{0,1,2}                              F -> F -> F -> m      relu, relu, none
//   {forward,backward}.{f,g}.{0,1}            m -> m -> m           relu, relu
//   {ancestors,descendants,neither}.{F,G}.{0,1}   2m -> 2m -> 2m    relu, relu
//   classifier.{0,1,2}                        D -> 2D -> D -> devices   relu, relu, none
std::vector<LayerSpec> PlacetoLayers(const PlacetoShape& shape);

// Number of floats in the flat parameter vector.
int64_t NumParameters(const PlacetoShape& shape);

}  // namespace emplace
