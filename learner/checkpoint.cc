#include "learner/checkpoint.h"

#include <algorithm>
#include <cstdio>

#include "common/error.h"
#include "common/file_io.h"
#include "common/json_text.h"
#include "common/log.h"
#include "common/safetensors.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "emplace.checkpoint/1";
constexpr char kPrefix[] = "update_";

std::string OptimizerBytes(const UpdaterState& state) {
  SafetensorsFile file;
  file.metadata["format"] = "emplace.optimizer/1";
  const auto add = [&](const std::string& name, const std::vector<float>& values) {
    file.tensors.push_back(SafetensorsTensor::Of<float>(name, {std::ssize(values)}, values));
  };
  add("adam.mean", state.adam_mean);
  add("adam.variance", state.adam_variance);
  for (size_t graph = 0; graph < state.recent_returns.size(); ++graph) {
    add(StrCat("returns.", graph), state.recent_returns[graph]);
  }
  return SerializeSafetensors(file);
}

void ReadOptimizer(const fs::path& path, size_t graphs, UpdaterState& state) {
  const std::string source = path.string();
  const SafetensorsFile file = ParseSafetensors(ReadFile(path), source);
  state.adam_mean = file.Get("adam.mean", source).Values<float>(source);
  state.adam_variance = file.Get("adam.variance", source).Values<float>(source);
  for (size_t graph = 0; graph < graphs; ++graph) {
    state.recent_returns.push_back(file.Get(StrCat("returns.", graph), source).Values<float>(source));
  }
}

std::string StateText(const Checkpoint& checkpoint) {
  const Json state = {{"format", kFormat},
                      {"updates", checkpoint.updates},
                      {"train_seconds", checkpoint.train_seconds},
                      {"best_validation", checkpoint.best_validation},
                      {"adam_steps", checkpoint.updater.adam_steps},
                      {"graphs", checkpoint.updater.recent_returns.size()},
                      {"rng_seed", checkpoint.rng_seed},
                      {"rng_state", checkpoint.rng_state},
                      {"kernel_path", checkpoint.kernel_path},
                      {"ledger", checkpoint.ledger_json},
                      {"config", checkpoint.config_yaml}};
  return state.dump(1) + "\n";
}

// A complete folder under a name of its own, moved into place in one step.
void WriteFolder(const fs::path& target, const Checkpoint& checkpoint) {
  const fs::path aside = target.parent_path() / StrCat(".", target.filename().string(), ".tmp");
  fs::remove_all(aside);
  fs::create_directories(aside);
  WriteFileAtomically(aside / "policy.safetensors", SerializePolicy(checkpoint.policy));
  WriteFileAtomically(aside / "optimizer.safetensors", OptimizerBytes(checkpoint.updater));
  WriteFileAtomically(aside / "state.json", StateText(checkpoint));
  fs::remove_all(target);  // Left by a run that was resumed from before it.
  fs::rename(aside, target);
}

// update_00000100 -> 100; -1 for anything else.
int64_t UpdateOf(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix) || name.size() != std::string(kPrefix).size() + 8) return -1;
  const std::string digits = name.substr(std::string(kPrefix).size());
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return -1;
  return std::stoll(digits);
}

std::vector<fs::path> NewestFirst(const fs::path& folder) {
  std::vector<fs::path> found;
  if (!fs::exists(folder)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && UpdateOf(entry.path()) >= 0) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) { return UpdateOf(a) > UpdateOf(b); });
  return found;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

void CheckpointStore::Write(const Checkpoint& checkpoint) const {
  try {
    fs::create_directories(folder_);
    char name[32];
    std::snprintf(name, sizeof(name), "%s%08lld", kPrefix, static_cast<long long>(checkpoint.updates));
    WriteFolder(folder_ / name, checkpoint);
    const std::vector<fs::path> all = NewestFirst(folder_);
    for (size_t i = static_cast<size_t>(keep_); i < all.size(); ++i) fs::remove_all(all[i]);
  } catch (const fs::filesystem_error& error) {
    throw RunFailed(StrCat(folder_.string(), ": cannot write a checkpoint: ", error.code().message()));
  }
}

void CheckpointStore::WriteBest(const PolicyWeights& policy) const {
  std::error_code ignored;  // The write right after says what is wrong.
  fs::create_directories(folder_ / "best", ignored);
  WriteFileAtomically(folder_ / "best" / "policy.safetensors", SerializePolicy(policy));
}

std::optional<PolicyWeights> CheckpointStore::LoadBest() const {
  const fs::path path = folder_ / "best" / "policy.safetensors";
  if (!fs::exists(path)) return std::nullopt;
  return LoadPolicy(path);
}

std::optional<Checkpoint> CheckpointStore::LoadNewest() const {
  const std::vector<fs::path> all = NewestFirst(folder_);
  for (const fs::path& folder : all) {
    try {
      return LoadCheckpoint(folder);
    } catch (const Error& error) {
      LogWarning(StrCat("checkpoint is damaged, trying the one before: ", error.what()));
    }
  }
  if (!all.empty()) throw BadInput(StrCat(folder_.string(), ": every checkpoint in it is damaged"));
  return std::nullopt;
}

Checkpoint LoadCheckpoint(const fs::path& folder) {
  const fs::path path = folder / "state.json";
  const nlohmann::json state = ParseJson(ReadFile(path), path.string());
  Checkpoint checkpoint;
  size_t graphs = 0;
  try {
    if (state.at("format") != kFormat) throw BadInput(StrCat(path.string(), ": expected format ", kFormat));
    state.at("updates").get_to(checkpoint.updates);
    state.at("train_seconds").get_to(checkpoint.train_seconds);
    state.at("best_validation").get_to(checkpoint.best_validation);
    state.at("adam_steps").get_to(checkpoint.updater.adam_steps);
    state.at("graphs").get_to(graphs);
    state.at("rng_seed").get_to(checkpoint.rng_seed);
    state.at("rng_state").get_to(checkpoint.rng_state);
    state.at("kernel_path").get_to(checkpoint.kernel_path);
    state.at("ledger").get_to(checkpoint.ledger_json);
    state.at("config").get_to(checkpoint.config_yaml);
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(StrCat(path.string(), ": damaged: ", error.what()));
  }
  checkpoint.policy = LoadPolicy(folder / "policy.safetensors");
  ReadOptimizer(folder / "optimizer.safetensors", graphs, checkpoint.updater);
  return checkpoint;
}

}  // namespace emplace
