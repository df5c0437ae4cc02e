// The kind `placeto`: the keys, sizes and parameters of the Placeto policy (Addanki et al., NeurIPS 2019).
#pragma once

#include "policy/placeto/placeto_shape.h"
#include "policy/policy_kind.h"
#include "policy/policy_weights.h"

namespace emplace {

// The keys of section `policy`.
struct PlacetoConfig {
  int64_t message_rounds = 8;
  int64_t message_width = 0;
  bool memory_feature = false;
  bool pooling = true;
  bool start_times = false;
  double output_scale = 1;
};

const PolicyKind& PlacetoKind();

// A new policy with Glorot-uniform weights and zero biases. output_scale: factor of the last layer's weights, and so of
// the logits.
PolicyWeights InitialPlaceto(const PlacetoShape& shape, Rng rng, double output_scale = 1);

}  // namespace emplace
