// The kind `placeto`: the keys, sizes and parameters of the Placeto policy (Addanki et al., NeurIPS 2019).
#pragma once

#include "policy/placeto/placeto_shape.h"
#include "policy/policy_kind.h"
#include "policy/policy_weights.h"

namespace emplace {

const PolicyKind& PlacetoKind();

// A new policy with Glorot-uniform weights and zero biases. output_scale: factor of the last layer's weights, and so of
// the logits.
PolicyWeights InitialPlaceto(const PlacetoShape& shape, Rng rng, double output_scale = 1);

}  // namespace emplace
