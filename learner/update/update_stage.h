// The update stage: batches in, policy versions out. It alone touches the updater while the run goes on, so what it
// saves between two updates is the state after exactly one of them, whatever runs by the time that it is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/policy/policy_weights.h"
#include "learner/intake/batcher.h"
#include "learner/intake/ledger.h"
#include "learner/run_clock.h"
#include "learner/update/policy_updater.h"

namespace emplace {

// All of a run that an update changes, as it is after one.
struct Snapshot {
  std::shared_ptr<const PolicyWeights> weights;
  UpdaterState updater;
  std::string ledger_json;   // As Ledger::ToJson gives it.
  double train_seconds = 0;  // Over all sittings.
};

// What an update came to.
struct UpdateResult {
  std::shared_ptr<const PolicyWeights> weights;  // Their version is the number of updates so far.
  UpdateStats stats;
  BatchStats batch_stats;            // Of its batch.
  std::optional<Snapshot> snapshot;  // When a checkpoint is due.
};

// For one thread at a time, but for updates().
class UpdateStage {
 public:
  // A checkpoint is due every `checkpoint_every` updates. REQUIRES: all of them outlive it.
  UpdateStage(PolicyUpdater& updater, int64_t checkpoint_every, Ledger& ledger, const RunClock& clock);

  // REQUIRES: the batch is for the version that the updater has.
  UpdateResult Train(const Batch& batch);
  // The state after the last update.
  Snapshot Save() const;

  int64_t updates() const { return updates_; }  // Over all sittings. Any thread may call it.

 private:
  PolicyUpdater& updater_;
  const int64_t checkpoint_every_;
  Ledger& ledger_;
  const RunClock& clock_;
  std::shared_ptr<const PolicyWeights> weights_;  // The updater's.
  std::atomic<int64_t> updates_;
};

}  // namespace emplace
