// The parameters of a policy as one flat vector, and the file that holds them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/policy/policy_shape.h"
#include "common/rng.h"

namespace emplace {

struct PolicyWeights {
  PolicyShape shape;
  PolicyVersion version = 0;
  std::vector<float> values;  // [NumParameters(shape)] in the order of PolicyLayers
  // How the policy was trained, for people and for `emplace place`: "grouping.max_groups", "environment.start", ...
  std::map<std::string, std::string> metadata;

  // A new policy with Glorot-uniform weights and zero biases. output_scale: factor of the last layer's weights, and so
  // of the logits.
  static PolicyWeights Initial(const PolicyShape& shape, Rng rng, double output_scale = 1);
};

// The bytes of a policy.safetensors: one tensor for each parameter, and in the file's metadata "format":
// "emplace.policy/1", the shape, the version and `metadata`.
std::string SerializePolicy(const PolicyWeights& weights);
// Throws BadInput "name: what is wrong, what was expected". `name` is the file or the peer.
PolicyWeights ParsePolicy(std::string_view bytes, const std::string& name);
PolicyWeights LoadPolicy(const std::filesystem::path& path);

}  // namespace emplace
