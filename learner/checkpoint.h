// Checkpoints (design, section 6): a folder RUN_DIR/checkpoints/update_00000100/ with policy.safetensors,
// optimizer.safetensors (Adam's moments, baselines) and state.json (counters, RNG, ledger, kernel path, configuration),
// written aside, fsynced, renamed; state.json holds checksums of all three. The last K are kept, and the policy that
// did best on the validation graphs, in RUN_DIR/checkpoints/best/policy.safetensors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/policy/policy_weights.h"
#include "common/rng.h"
#include "learner/update/policy_updater.h"

namespace emplace {

struct Checkpoint {
  PolicyWeights policy;
  UpdaterState updater;
  uint64_t rng_seed = 0;
  Rng::State rng_state = {};
  int64_t updates = 0;
  double train_seconds = 0;    // Wall time spent so far, over all sittings.
  double best_validation = 0;  // Of the best checkpoint: geometric mean of makespan / one device; 0: none yet.
  std::vector<double> validation_history;  // Of the last evaluations, oldest first: see Plateau::history.
  std::string ledger_json;                 // As Ledger::ToJson gives it.
  std::string kernel_path;
  std::string config_yaml;  // Resolved.
};

// The files of one checkpoint folder.
struct CheckpointFiles {
  std::string policy;     // policy.safetensors
  std::string optimizer;  // optimizer.safetensors
  std::string state;      // state.json
};
CheckpointFiles SerializeCheckpoint(const Checkpoint& checkpoint);
// `folder` names them in errors; nothing is read from there. Throws BadInput naming the file.
Checkpoint ParseCheckpoint(const CheckpointFiles& files, const std::filesystem::path& folder);

// Manages RUN_DIR/checkpoints.
class CheckpointStore {
 public:
  CheckpointStore(std::filesystem::path folder, int64_t keep);
  // Writes update_<n> and removes what is older than the last `keep`. Throws RunFailed.
  void Write(const Checkpoint& checkpoint) const;
  void WriteBest(const PolicyWeights& policy) const;
  std::optional<PolicyWeights> LoadBest() const;  // nullopt: there is none.
  // The newest one that reads back whole; older ones are tried when it is damaged, with a log line for each.
  // nullopt when there is none at all; throws BadInput when every one is damaged, or one is of another format version.
  std::optional<Checkpoint> LoadNewest() const;

 private:
  std::filesystem::path folder_;
  int64_t keep_;
};

// Throws BadInput naming the file.
Checkpoint LoadCheckpoint(const std::filesystem::path& folder);

}  // namespace emplace
