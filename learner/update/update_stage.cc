#include "learner/update/update_stage.h"

#include "common/error.h"

namespace emplace {

UpdateStage::UpdateStage(PolicyUpdater& updater, int64_t checkpoint_every, Ledger& ledger, const RunClock& clock)
    : updater_(updater),
      checkpoint_every_(checkpoint_every),
      ledger_(ledger),
      clock_(clock),
      weights_(std::make_shared<const PolicyWeights>(updater.weights())),
      updates_(static_cast<int64_t>(updater.weights().version)) {
  EMPLACE_CHECK(checkpoint_every > 0);
}

Updated UpdateStage::Train(const Batch& batch) {
  EMPLACE_CHECK(batch.version == updater_.weights().version);
  Updated updated;
  updated.stats = updater_.Update(batch.trajectories);
  updated.numbers = batch.numbers;
  for (const Trajectory& trajectory : batch.trajectories) ledger_.CountTrained(trajectory.actor);
  weights_ = std::make_shared<const PolicyWeights>(updater_.weights());
  updated.weights = weights_;
  updates_ = static_cast<int64_t>(weights_->version);
  if (updates_ % checkpoint_every_ == 0) updated.snapshot = Save();
  return updated;
}

Snapshot UpdateStage::Save() const { return {weights_, updater_.SaveState(), ledger_.ToJson(), clock_.seconds()}; }

}  // namespace emplace
