// The update stage: makes a version of the policy from each batch. Nothing else uses the updater while the run goes on,
// so a snapshot is the exact state after one update, although it is written while the next update runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "learner/intake/batcher.h"
#include "learner/ledger.h"
#include "learner/run_clock.h"
#include "learner/update/updater.h"
#include "policy/config/learner_config.h"
#include "policy/policy_weights.h"

namespace emplace {

// Everything that updates change in a run, as it is after one update.
struct Snapshot {
  std::shared_ptr<const PolicyWeights> weights;
  std::shared_ptr<const PolicyWeights> policy;  // To place with.
  UpdaterState updater;
  std::string ledger_json;   // Made by Ledger::ToJson.
  double train_seconds = 0;  // Training time over all sittings.
};

// The result of one update.
struct UpdateResult {
  std::shared_ptr<const PolicyWeights> weights;  // Their version is the number of updates so far.
  std::shared_ptr<const PolicyWeights> policy;   // To place with, as Updater has it.
  UpdateStats stats;
  BatchStats batch_stats;            // Statistics of the update's batch.
  std::optional<Snapshot> snapshot;  // Set when a checkpoint is due: CheckpointConfig.
};

// For one thread at a time, except updates().
class UpdateStage {
 public:
  // REQUIRES: updater, ledger and clock outlive the stage.
  UpdateStage(Updater& updater, const CheckpointConfig& checkpoints, Ledger& ledger, const RunClock& clock);

  // Makes the update of a batch. An update whose gradient is no finite number is skipped: the weights stay. Throws
  // RunFailed when a hundred in a row were, for then nothing is learned any more. REQUIRES: the batch is for the
  // version that the updater has.
  UpdateResult Train(const Batch& batch);
  // Returns the state after the last update.
  Snapshot Save() const;

  int64_t updates() const { return updates_; }  // Updates in all sittings. Any thread may call it.

 private:
  void TakeFromUpdater();
  bool CheckpointIsDue() const;

  Updater& updater_;
  const CheckpointConfig checkpoints_;
  Ledger& ledger_;
  const RunClock& clock_;
  // Copies of what the updater has.
  std::shared_ptr<const PolicyWeights> weights_;
  std::shared_ptr<const PolicyWeights> policy_;
  std::atomic<int64_t> updates_;
  int64_t skipped_in_a_row_ = 0;
  double last_checkpoint_s_;  // By the clock.
};

}  // namespace emplace
