// A checkpoint holds all that a run needs to go on as if it had not ended. As bytes it is the three files of a folder
// such as RUN_DIR/checkpoints/update_00000100/: policy.safetensors, optimizer.safetensors (Adam's moments, the
// objective's state) and state.json (counters, RNG, ledger, kernel path, configuration), which holds checksums of all
// three. checkpoint_store.h says where they lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/rng.h"
#include "learner/update/updater.h"
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
  std::string graphs_hash;      // Workload::graphs_hash; empty in checkpoints from before it, too.
  std::string conditions_hash;  // Workload::conditions_hash; the same.
  std::string config_yaml;      // The resolved configuration.
};

// The contents of the files in a checkpoint folder.
struct CheckpointFiles {
  static constexpr char kPolicy[] = "policy.safetensors";
  static constexpr char kOptimizer[] = "optimizer.safetensors";
  static constexpr char kState[] = "state.json";

  std::string policy;
  std::string optimizer;
  std::string state;
};
CheckpointFiles SerializeCheckpoint(const Checkpoint& checkpoint);
// Errors name the files by `folder`; nothing is read from there. Throws BadInput that names the file.
Checkpoint ParseCheckpoint(const CheckpointFiles& files, const std::filesystem::path& folder);

}  // namespace emplace
