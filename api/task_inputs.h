// Inputs that several subcommands read in the same way: graphs, and the policy that places them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy_weights.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Returns the graph files that `paths` name. A folder stands for all *.graph.json and *.graph.json.zst in it, sorted by
// name; with `split` ("train" or "test"), it stands for that part of its split.json. Throws BadInput for a path without
// a graph.
std::vector<std::filesystem::path> FindGraphs(const std::vector<std::string>& paths, const std::string& split = "");

// The policy of this file, or the best one of this run directory.
PolicyWeights LoadPolicyOf(const std::string& path);

// What a user says in place of a policy's path to have none, not even the planner that comes with the programs.
inline constexpr char kNoPolicy[] = "none";
// The policy to place with, of what a user said: a path as above, kNoPolicy, or nothing, which stands for the trained
// planner that comes with the programs, models/planner.safetensors ($EMPLACE_MODELS overrides its folder), where it
// is there.
std::optional<PolicyWeights> PolicyAsked(const std::string& said);

// The most groups into which ops are merged, as GroupOps takes it: `wanted`, else the number with which the policy was
// trained, else 128. policy: nullptr where there is none. Throws BadInput for one that is out of range.
int32_t MaxGroups(std::optional<int64_t> wanted, const PolicyWeights* policy);

inline constexpr int kMostThreads = 1024;
// The number of threads: `wanted`, or for 0 one for each core. Throws BadInput for a number outside 0..kMostThreads.
int Threads(int wanted);

// Throws BadInput, such as "policy.safetensors: the policy is for 2 devices, cluster.yaml has 3", unless their numbers
// of devices are equal.
void CheckPolicyFits(const PolicyWeights& policy, const std::string& policy_path, const Cluster& cluster,
                     const std::string& devices_path);

}  // namespace emplace
