#include "learner/checkpoint.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/files/json_text.h"
#include "common/files/safetensors.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr char kFormat[] = "emplace.checkpoint/3";
constexpr char kFormatBefore[] = "emplace.checkpoint/2";  // With numbers of the objective in state.json.
constexpr char kFirstFormat[] = "emplace.checkpoint/1";   // And without a checksum of state.json itself.
constexpr char kPrefix[] = "update_";
constexpr char kPolicyFile[] = "policy.safetensors";
constexpr char kOptimizerFile[] = "optimizer.safetensors";
constexpr char kStateFile[] = "state.json";
constexpr char kAdamMean[] = "adam.mean";
constexpr char kAdamVariance[] = "adam.variance";
constexpr char kTemporary[] = ".tmp";
constexpr char kSetAside[] = ".old";
// The last entry of state.json, of all text before it. No text inside a JSON string looks like this: quotes are
// escaped.
constexpr char kStateChecksum[] = ",\n \"state_xxh64\": \"";

// Tells a flipped bit, which still parses, from what was written.
std::string Checksum(std::string_view bytes) {
  return Format("%016llx", static_cast<unsigned long long>(XXH64(bytes.data(), bytes.size(), 0)));
}

void CheckChecksum(std::string_view bytes, const std::string& source, const std::string& checksum) {
  if (Checksum(bytes) == checksum) return;
  throw BadInput(StrCat(source, ": damaged: checksum is ", Checksum(bytes), ", expected ", checksum));
}

std::string OptimizerBytes(const UpdaterState& state) {
  SafetensorsFile file;
  file.metadata["format"] = "emplace.optimizer/2";
  for (const auto& [name, moments] : {std::pair(kAdamMean, &state.adam.mean), {kAdamVariance, &state.adam.variance}}) {
    file.tensors.push_back(SafetensorsTensor::Of<float>(name, {std::ssize(*moments)}, *moments));
  }
  file.tensors.insert(file.tensors.end(), state.objective.tensors.begin(), state.objective.tensors.end());
  return SerializeSafetensors(file);
}

void ParseOptimizer(std::string_view bytes, const std::string& source, UpdaterState& state) {
  SafetensorsFile file = ParseSafetensors(bytes, source);
  state.adam.mean = file.Get(kAdamMean, source).Values<float>(source);
  state.adam.variance = file.Get(kAdamVariance, source).Values<float>(source);
  for (SafetensorsTensor& tensor : file.tensors) {
    if (tensor.name != kAdamMean && tensor.name != kAdamVariance) {
      state.objective.tensors.push_back(std::move(tensor));
    }
  }
}

// Before format 3, state.json held these numbers of the only objective there was.
void AddNumbersFromState(const nlohmann::json& state, UpdaterState& updater) {
  const auto add = [&](const char* name, const std::vector<double>& values) {
    updater.objective.tensors.push_back(SafetensorsTensor::Of<double>(name, {std::ssize(values)}, values));
  };
  add("entropy_weight", {state.at("entropy_weight").get<double>()});
  add("advantage_mean_squares", state.at("advantage_mean_squares").get<std::vector<double>>());
}

Rng::State RngStateFrom(const nlohmann::json& json, const std::string& place) {
  Rng::State state = {};
  if (!json.is_array() || json.size() != state.size()) {
    throw BadInput(StrCat(place, " is ", ShownJson(json), ", expected a list of ", state.size(), " whole numbers"));
  }
  for (size_t i = 0; i < state.size(); ++i) state[i] = WholeNumber(json[i], place);
  // It would stay there, and draw the same number for ever.
  if (state == Rng::State{}) throw BadInput(StrCat(place, " is all zeros, which no generator comes to"));
  return state;
}

std::string StateText(const Checkpoint& checkpoint, std::string_view policy, std::string_view optimizer) {
  const OrderedJson state = {{"format", kFormat},
                             {"updates", checkpoint.updates},
                             {"train_seconds", checkpoint.train_seconds},
                             {"best_validation", checkpoint.best_validation},
                             {"validation_history", checkpoint.validation_history},
                             {"adam_steps", checkpoint.updater.adam.steps},
                             {"rng_seed", checkpoint.rng_seed},
                             {"rng_state", checkpoint.rng_state},
                             {"kernel_path", checkpoint.kernel_path},
                             {"policy_xxh64", Checksum(policy)},
                             {"optimizer_xxh64", Checksum(optimizer)},
                             {"ledger", checkpoint.ledger_json},
                             {"config", checkpoint.config_yaml}};
  // Text from outside that is not UTF-8 must not cost the checkpoint.
  std::string text = state.dump(1, ' ', false, OrderedJson::error_handler_t::replace);
  text.resize(text.size() - std::string_view("\n}").size());
  return StrCat(text, kStateChecksum, Checksum(text), "\"\n}\n");
}

// A flipped digit would still be a number.
void CheckState(std::string_view text, const nlohmann::json& state, const std::string& source) {
  if (state.at("format") == kFirstFormat && !state.contains("state_xxh64")) return;
  CheckChecksum(text.substr(0, text.rfind(kStateChecksum)), source, state.at("state_xxh64"));
}

void RemoveOrWarn(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) LogWarning(StrCat(path.string(), ": cannot be removed: ", error.message()));
}

// `target` with a name under which LoadNewest finds it again when the run is killed before another has taken its place.
fs::path AsideOf(const fs::path& target) {
  return target.parent_path() / StrCat(".", target.filename().string(), kSetAside);
}

// Of a folder that was set aside, the folder whose place it had; nullopt for any other.
std::optional<fs::path> PlaceOf(const fs::path& aside) {
  const std::string name = aside.filename().string();
  if (!name.starts_with(StrCat(".", kPrefix)) || !name.ends_with(kSetAside)) return std::nullopt;
  return aside.parent_path() / name.substr(1, name.size() - 1 - std::string_view(kSetAside).size());
}

// Puts back what had been set aside for a folder that never came.
void RestoreSetAside(const fs::path& folder) {
  std::error_code ignored;  // Who may only read the folder does without.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::optional<fs::path> place = PlaceOf(entry.path());
    if (place && !fs::exists(*place)) fs::rename(entry.path(), *place, ignored);
  }
}

// Makes the complete folder `aside` the folder `target`. One that is there already was left by a run that was resumed
// from before it. The two change places in one step where the file system can; on others (NFS) the old one is set aside
// first.
void MoveIntoPlace(const fs::path& aside, const fs::path& target) {
  fs::path old = aside;  // What is no longer needed once the new one is on disk.
  if (!fs::exists(target)) {
    fs::rename(aside, target);
  } else if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    old = AsideOf(target);
    fs::remove_all(old);
    fs::rename(target, old);
    fs::rename(aside, target);
  }
  SyncFolder(target.parent_path());
  RemoveOrWarn(old);
}

// A complete folder under a name of its own, moved into place.
void WriteFolder(const fs::path& target, const fs::path& aside, const Checkpoint& checkpoint) {
  fs::create_directories(aside);
  const CheckpointFiles files = SerializeCheckpoint(checkpoint);
  WriteFileAtomically(aside / kPolicyFile, files.policy);
  WriteFileAtomically(aside / kOptimizerFile, files.optimizer);
  WriteFileAtomically(aside / kStateFile, files.state);
  MoveIntoPlace(aside, target);
}

// What a killed run left half-written, or set aside for a checkpoint that is there.
void RemoveTemporaries(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::optional<fs::path> place = PlaceOf(entry.path());
    const bool replaced = place && fs::exists(*place);
    const bool half_written = name.starts_with(StrCat(".", kPrefix)) && name.ends_with(kTemporary);
    if (replaced || half_written) RemoveOrWarn(entry.path());
  }
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

CheckpointFiles SerializeCheckpoint(const Checkpoint& checkpoint) {
  CheckpointFiles files{SerializePolicy(checkpoint.policy), OptimizerBytes(checkpoint.updater), ""};
  files.state = StateText(checkpoint, files.policy, files.optimizer);
  return files;
}

CheckpointStore::CheckpointStore(fs::path folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

void CheckpointStore::Write(const Checkpoint& checkpoint) const {
  try {
    fs::create_directories(folder_);
    RestoreSetAside(folder_);
    RemoveTemporaries(folder_);
    const std::string name = Format("%s%08lld", kPrefix, static_cast<long long>(checkpoint.updates));
    const fs::path aside = folder_ / StrCat(".", name, kTemporary);
    try {
      WriteFolder(folder_ / name, aside, checkpoint);
    } catch (...) {
      std::error_code ignored;  // The first error is the one to tell.
      fs::remove_all(aside, ignored);
      throw;
    }
    // Damaged ones that a resumed run has passed over may be newer than this one: they do not count among the kept.
    int64_t kept = 0;
    for (const fs::path& old : NewestFirst(folder_)) {
      if (UpdateOf(old) <= checkpoint.updates && ++kept > keep_) RemoveOrWarn(old);
    }
  } catch (const fs::filesystem_error& error) {
    throw RunFailed(StrCat(folder_.string(), ": cannot write a checkpoint: ", error.code().message()));
  }
}

void CheckpointStore::WriteBest(const PolicyWeights& policy) const {
  std::error_code ignored;  // The write right after says what is wrong.
  fs::create_directories(folder_ / "best", ignored);
  WriteFileAtomically(folder_ / "best" / kPolicyFile, SerializePolicy(policy));
}

std::optional<PolicyWeights> CheckpointStore::LoadBest() const {
  const fs::path path = folder_ / "best" / kPolicyFile;
  if (!fs::exists(path)) return std::nullopt;
  try {
    return LoadPolicy(path);
  } catch (const OtherVersion&) {
    throw;
  } catch (const Error& error) {
    LogWarning(StrCat("the best policy is damaged, and the next that is evaluated takes its place: ", error.what()));
    return std::nullopt;
  }
}

std::optional<Checkpoint> CheckpointStore::LoadNewest() const {
  RestoreSetAside(folder_);
  const std::vector<fs::path> all = NewestFirst(folder_);
  for (const fs::path& folder : all) {
    try {
      return LoadCheckpoint(folder);
    } catch (const OtherVersion&) {
      throw;  // Not damaged: to go on from an older one would throw away what a newer Emplace has done.
    } catch (const Error& error) {
      LogWarning(StrCat("checkpoint is damaged, trying the one before: ", error.what()));
    }
  }
  if (!all.empty()) throw BadInput(StrCat(folder_.string(), ": every checkpoint in it is damaged"));
  return std::nullopt;
}

Checkpoint LoadCheckpoint(const fs::path& folder) {
  return ParseCheckpoint(
      {ReadFile(folder / kPolicyFile), ReadFile(folder / kOptimizerFile), ReadFile(folder / kStateFile)}, folder);
}

Checkpoint ParseCheckpoint(const CheckpointFiles& files, const fs::path& folder) {
  const fs::path path = folder / kStateFile;
  const nlohmann::json state = ParseJson(files.state, path.string());
  Checkpoint checkpoint;
  std::string policy_checksum;
  std::string optimizer_checksum;
  try {
    const std::string format = state.at("format");
    const bool old = format == kFormatBefore || format == kFirstFormat;
    if (!old && format != kFormat) {
      // A version that one flipped bit has changed is damage.
      if (state.contains("state_xxh64")) CheckState(files.state, state, path.string());
      CheckFormat(format, kFormat, path.string());
    }
    const auto number = [&](const char* key, uint64_t largest) {
      return WholeNumber(state.at(key), StrCat(path.string(), ": ", key), largest);
    };
    constexpr uint64_t kMostUpdates = std::numeric_limits<int64_t>::max();
    checkpoint.updates = static_cast<int64_t>(number("updates", kMostUpdates));
    state.at("train_seconds").get_to(checkpoint.train_seconds);
    state.at("best_validation").get_to(checkpoint.best_validation);
    state.at("validation_history").get_to(checkpoint.validation_history);
    checkpoint.updater.adam.steps = static_cast<int64_t>(number("adam_steps", kMostUpdates));
    if (old) AddNumbersFromState(state, checkpoint.updater);
    checkpoint.rng_seed = number("rng_seed", std::numeric_limits<uint64_t>::max());
    checkpoint.rng_state = RngStateFrom(state.at("rng_state"), StrCat(path.string(), ": rng_state"));
    state.at("kernel_path").get_to(checkpoint.kernel_path);
    state.at("policy_xxh64").get_to(policy_checksum);
    state.at("optimizer_xxh64").get_to(optimizer_checksum);
    state.at("ledger").get_to(checkpoint.ledger_json);
    state.at("config").get_to(checkpoint.config_yaml);
    CheckState(files.state, state, path.string());
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(StrCat(path.string(), ": damaged: ", error.what()));
  }
  const std::string policy = (folder / kPolicyFile).string();
  CheckChecksum(files.policy, policy, policy_checksum);
  checkpoint.policy = ParsePolicy(files.policy, policy);
  const std::string optimizer = (folder / kOptimizerFile).string();
  CheckChecksum(files.optimizer, optimizer, optimizer_checksum);
  ParseOptimizer(files.optimizer, optimizer, checkpoint.updater);
  return checkpoint;
}

}  // namespace emplace
