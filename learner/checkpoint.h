// A checkpoint is a folder, such as RUN_DIR/checkpoints/update_00000100/, with policy.safetensors,
// optimizer.safetensors (Adam's moments, the objective's state) and state.json (counters, RNG, ledger, kernel path,
// configuration). It is written under another name, fsynced and renamed; state.json holds checksums of all three files.
// The last K checkpoints are kept, and so is the policy that is best on the validation graphs, in
// RUN_DIR/checkpoints/best/policy.safetensors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "learner/update/policy_updater.h"
#include "policy/policy_weights.h"

namespace emplace {

struct Checkpoint {
  PolicyWeights policy;
  UpdaterState updater;
  uint64_t rng_seed = 0;
  Rng::State rng_state = {};
  int64_t updates = 0;
  double train_seconds = 0;  // Wall time of training in all sittings of the run.
  // Validation ratio of the best policy, see BestPolicy::ratio; 0: there is none yet. For people: a resumed run reads
  // the ratio from the best policy's own file.
  double best_validation = 0;
  std::vector<double> validation_history;  // Ratios of the last evaluations: see Plateau::history.
  std::string ledger_json;                 // Made by Ledger::ToJson.
  std::string kernel_path;
  std::string config_yaml;  // The resolved configuration.
};

// The contents of the files in a checkpoint folder.
struct CheckpointFiles {
  std::string policy;     // policy.safetensors
  std::string optimizer;  // optimizer.safetensors
  std::string state;      // state.json
};
CheckpointFiles SerializeCheckpoint(const Checkpoint& checkpoint);
// Errors name the files by `folder`; nothing is read from there. Throws BadInput that names the file.
Checkpoint ParseCheckpoint(const CheckpointFiles& files, const std::filesystem::path& folder);

// Manages RUN_DIR/checkpoints.
class CheckpointStore {
 public:
  CheckpointStore(std::filesystem::path folder, int64_t keep);
  // Writes the folder update_<n> and removes all checkpoints but the last `keep`. Throws RunFailed.
  void Write(const Checkpoint& checkpoint) const;
  void WriteBest(const PolicyWeights& policy) const;
  // nullopt: there is no best policy yet, or it is damaged, which is logged.
  std::optional<PolicyWeights> LoadBest() const;
  // The newest checkpoint that is not damaged; each damaged one is logged. nullopt: there is no checkpoint. Throws
  // BadInput when all are damaged, or when one has another format version.
  std::optional<Checkpoint> LoadNewest() const;

 private:
  std::filesystem::path folder_;
  int64_t keep_;
};

// Throws BadInput that names the file.
Checkpoint LoadCheckpoint(const std::filesystem::path& folder);

}  // namespace emplace
