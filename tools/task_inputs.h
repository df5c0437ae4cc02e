// What several subcommands read in the same way: graphs on a machine, and the policy that shall place them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/policy/policy_weights.h"
#include "simulator/cluster.h"

namespace emplace {

// Files as they are; a folder stands for the *.graph.json and *.graph.json.zst in it, by name. With `split` ("train" or
// "test") a folder stands for that part of its split.json. Throws BadInput for a path that holds no graph.
std::vector<std::filesystem::path> FindGraphs(const std::vector<std::string>& paths, const std::string& split = "");

// How many groups to decide on: `wanted` when given (> 0), else what the policy was trained with, else 128.
int32_t MaxGroups(int64_t wanted, const std::optional<PolicyWeights>& policy);

// Throws BadInput "policy.safetensors: the policy is for 2 devices, cluster.yaml has 3".
void CheckPolicyFits(const PolicyWeights& policy, const std::string& policy_path, const Cluster& cluster,
                     const std::string& devices_path);

}  // namespace emplace
