// The parameters of a policy as one flat vector, and the file that holds them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "policy/policy_shape.h"

namespace emplace {

struct PolicyWeights {
  PolicyShape shape;
  PolicyVersion version = 0;
  std::vector<float> values;  // [NumParameters(shape)] in the order of PolicyKind::Parameters
  // How the policy was trained, for people and for `emplace place`: "grouping.max_groups", "environment.start", ...
  std::map<std::string, std::string> metadata;
};

// The bytes of a policy.safetensors: one tensor for each parameter, and in the file's metadata "format":
// "emplace.policy/1", the kind, the shape, the version and `metadata`.
std::string SerializePolicy(const PolicyWeights& weights);
// Throws BadInput "name: what is wrong, what was expected". `name` is the file or the peer. A file without a kind is
// from before there were kinds, and is read as placeto.
PolicyWeights ParsePolicy(std::string_view bytes, const std::string& name);
PolicyWeights LoadPolicy(const std::filesystem::path& path);

}  // namespace emplace
