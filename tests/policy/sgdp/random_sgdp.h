// Random policies of kind sgdp for tests.
#pragma once

#include "common/rng.h"
#include "policy/policy_weights.h"
#include "policy/sgdp/sgdp_kind.h"

namespace emplace {

// A small network, of segments so short that graphs have several, with every parameter drawn.
inline PolicyWeights RandomSgdp(int32_t num_devices, Rng& rng) {
  const auto size = [&](int64_t low, int64_t high) { return rng.UniformInt(low, high); };
  const int64_t heads = size(1, 2);
  const PolicyConfig config{.kind = "sgdp",
                            .initial = "",
                            .own = {{"hidden", heads * size(4, 6)},
                                    {"graph_layers", size(0, 2)},
                                    {"placer_layers", size(0, 2)},
                                    {"heads", heads},
                                    {"segment", size(1, 6)},
                                    {"superposition", rng.Uniform() < 0.5},
                                    {"graph_norm", rng.Uniform() < 0.5},
                                    {"balanced", rng.Uniform() < 0.5},
                                    {"output_scale", 1.0}}};
  PolicyWeights weights;
  weights.shape = SgdpKind().Shape(config, num_devices);
  weights.values = SgdpKind().InitialValues(weights.shape, config, rng);
  for (float& value : weights.values) value += static_cast<float>(rng.Uniform(-0.2, 0.2));
  return weights;
}

}  // namespace emplace
