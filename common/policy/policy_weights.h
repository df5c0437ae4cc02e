// The parameters of a policy as one flat vector, and the file that holds them.
#pragma once

#include <cstdint>
#include <filesystem>
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

  // Glorot-uniform weights, zero biases.
  static PolicyWeights Initial(const PolicyShape& shape, Rng rng);
};

// policy.safetensors: one tensor a parameter, and in its metadata "format": "emplace.policy/1", the shape, the version
// and `extra` (what the policy was trained on; shown by `emplace inspect`).
std::string SerializePolicy(const PolicyWeights& weights, const std::vector<std::pair<std::string, std::string>>& extra = {});
// Throws BadInput "name: what is wrong, what was expected". `name` is the file or peer it came from.
PolicyWeights ParsePolicy(std::string_view bytes, const std::string& name);
PolicyWeights LoadPolicy(const std::filesystem::path& path);

}  // namespace emplace
