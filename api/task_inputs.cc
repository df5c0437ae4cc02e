#include "api/task_inputs.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/run_policy.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/json_text.h"
#include "common/files/shipped_files.h"
#include "common/parse_number.h"
#include "common/strings.h"
#include "common/threads/thread_team.h"
#include "simulator/graph/graph_io.h"
#include "simulator/graph/grouping.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr char kShippedPlanner[] = "planner.safetensors";

std::vector<fs::path> GraphsOfFolder(const fs::path& folder) {
  std::vector<fs::path> graphs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && IsGraphFile(entry.path())) graphs.push_back(entry.path());
  }
  std::sort(graphs.begin(), graphs.end());
  if (graphs.empty())
    throw BadInput(StrCat(folder.string(), ": holds no graphs, expected files *.graph.json or *.graph.json.zst"));
  return graphs;
}

std::vector<fs::path> GraphsOfSplit(const fs::path& folder, const std::string& split) {
  const fs::path path = folder / "split.json";
  const nlohmann::json file = ParseJson(ReadFile(path), path.string());
  if (!file.is_object() || !file.contains(split) || !file[split].is_array()) {
    throw BadInput(StrCat(path.string(), ": has no list '", split, "', expected emplace.split/1 with train and test"));
  }
  std::vector<fs::path> graphs;
  for (const nlohmann::json& name : file[split]) {
    if (!name.is_string())
      throw BadInput(StrCat(path.string(), ": '", split, "' holds ", name.dump(), ", expected file names"));
    graphs.push_back(folder / name.get<std::string>());
  }
  return graphs;
}

}  // namespace

std::vector<fs::path> FindGraphs(const std::vector<std::string>& paths, const std::string& split) {
  std::vector<fs::path> graphs;
  for (const std::string& text : paths) {
    const fs::path path(text);
    if (!fs::exists(path)) throw BadInput(StrCat(text, ": does not exist, expected a graph or a folder of graphs"));
    if (!fs::is_directory(path)) {
      graphs.push_back(path);
      continue;
    }
    const std::vector<fs::path> found = split.empty() ? GraphsOfFolder(path) : GraphsOfSplit(path, split);
    graphs.insert(graphs.end(), found.begin(), found.end());
  }
  return graphs;
}

PolicyWeights LoadPolicyOf(const std::string& path) {
  return fs::is_directory(path) ? BestPolicy(path).weights : LoadPolicy(path);
}

std::optional<PolicyWeights> PolicyAsked(const std::string& said) {
  if (said == kNoPolicy) return std::nullopt;
  if (!said.empty()) return LoadPolicyOf(said);
  const std::optional<fs::path> models = ShippedFolderIfAny("models", "EMPLACE_MODELS");
  if (!models || !fs::exists(*models / kShippedPlanner)) return std::nullopt;
  return LoadPolicy(*models / kShippedPlanner);
}

int32_t MaxGroups(std::optional<int64_t> wanted, const PolicyWeights* policy) {
  if (wanted && (*wanted < 0 || *wanted > std::numeric_limits<int32_t>::max())) {
    throw BadInput(StrCat("max_groups is ", *wanted, ", expected 0..", std::numeric_limits<int32_t>::max(),
                          " (0: each op by itself)"));
  }
  if (wanted) return static_cast<int32_t>(*wanted);
  if (!policy) return kDefaultMaxGroups;
  const auto trained = policy->metadata.find("grouping.max_groups");
  if (trained == policy->metadata.end()) return kDefaultMaxGroups;
  const std::optional<int32_t> value = ParseNumber<int32_t>(trained->second);
  if (!value || *value < 0) {
    throw BadInput(
        StrCat("policy: metadata grouping.max_groups is '", trained->second, "', expected a number of groups, or 0"));
  }
  return *value;
}

int Threads(int wanted) {
  if (wanted < 0 || wanted > kMostThreads)
    throw BadInput(StrCat("threads is ", wanted, ", expected at most ", kMostThreads, ", or 0 for one for each core"));
  return wanted > 0 ? wanted : ThreadsForAllCores();
}

void CheckPolicyFits(const PolicyWeights& policy, const std::string& policy_path, const Cluster& cluster,
                     const std::string& devices_path) {
  if (policy.shape.FitsDevices(cluster.num_devices())) return;
  throw BadInput(StrCat(policy_path, ": the policy is for ", policy.shape.num_devices, " devices, ", devices_path,
                        " has ", cluster.num_devices(), ", expected as many"));
}

}  // namespace emplace
