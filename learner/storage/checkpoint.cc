#include "learner/storage/checkpoint.h"

#include <xxhash.h>

#include <limits>
#include <utility>

#include "common/error.h"
#include "common/files/format_version.h"
#include "common/files/json_text.h"
#include "common/files/safetensors.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr char kFormat[] = "emplace.checkpoint/3";
constexpr char kFormatBefore[] = "emplace.checkpoint/2";  // With numbers of the objective in state.json.
constexpr char kFirstFormat[] = "emplace.checkpoint/1";   // And without a checksum of state.json itself.
constexpr char kAdamMean[] = "adam.mean";
constexpr char kAdamVariance[] = "adam.variance";
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
  OrderedJson state = {{"format", kFormat},
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
  if (!checkpoint.graphs_hash.empty()) state["graphs_xxh3"] = checkpoint.graphs_hash;
  if (!checkpoint.conditions_hash.empty()) state["conditions_xxh3"] = checkpoint.conditions_hash;
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

}  // namespace

CheckpointFiles SerializeCheckpoint(const Checkpoint& checkpoint) {
  CheckpointFiles files{SerializePolicy(checkpoint.policy), OptimizerBytes(checkpoint.updater), ""};
  files.state = StateText(checkpoint, files.policy, files.optimizer);
  return files;
}

Checkpoint ParseCheckpoint(const CheckpointFiles& files, const fs::path& folder) {
  const fs::path path = folder / CheckpointFiles::kState;
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
    checkpoint.graphs_hash = state.value("graphs_xxh3", "");
    checkpoint.conditions_hash = state.value("conditions_xxh3", "");
    state.at("policy_xxh64").get_to(policy_checksum);
    state.at("optimizer_xxh64").get_to(optimizer_checksum);
    state.at("ledger").get_to(checkpoint.ledger_json);
    state.at("config").get_to(checkpoint.config_yaml);
    CheckState(files.state, state, path.string());
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(StrCat(path.string(), ": damaged: ", error.what()));
  }
  const std::string policy = (folder / CheckpointFiles::kPolicy).string();
  CheckChecksum(files.policy, policy, policy_checksum);
  checkpoint.policy = ParsePolicy(files.policy, policy);
  const std::string optimizer = (folder / CheckpointFiles::kOptimizer).string();
  CheckChecksum(files.optimizer, optimizer, optimizer_checksum);
  ParseOptimizer(files.optimizer, optimizer, checkpoint.updater);
  return checkpoint;
}

}  // namespace emplace
