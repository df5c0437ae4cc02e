#include "learner/update/update_stage.h"

#include <cmath>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int64_t kMostSkipped = 100;  // Updates in a row.

}  // namespace

UpdateStage::UpdateStage(Updater& updater, const CheckpointConfig& checkpoints, Ledger& ledger, const RunClock& clock)
    : updater_(updater),
      checkpoints_(checkpoints),
      ledger_(ledger),
      clock_(clock),
      updates_(static_cast<int64_t>(updater.weights().version)),
      last_checkpoint_s_(clock.seconds()) {
  EMPLACE_CHECK(checkpoints.every > 0);
  TakeFromUpdater();
}

UpdateResult UpdateStage::Train(const Batch& batch) {
  EMPLACE_CHECK(batch.version == updater_.weights().version);
  UpdateResult result;
  result.stats = updater_.Update(batch.trajectories);
  result.batch_stats = batch.stats;
  skipped_in_a_row_ = std::isfinite(result.stats.gradient_norm) ? 0 : skipped_in_a_row_ + 1;
  if (skipped_in_a_row_ == kMostSkipped) {
    throw RunFailed(StrCat("the last ", kMostSkipped, " updates, up to update ", updater_.weights().version,
                           ", were skipped, since their gradients are no finite numbers: nothing is learned any more; "
                           "expected rewards and a learning rate that the policy can be trained with"));
  }
  for (const Trajectory& trajectory : batch.trajectories) ledger_.CountTrained(trajectory.actor);
  TakeFromUpdater();
  result.weights = weights_;
  result.policy = policy_;
  updates_ = static_cast<int64_t>(weights_->version);
  if (CheckpointIsDue()) {
    result.snapshot = Save();
    last_checkpoint_s_ = result.snapshot->train_seconds;
  }
  return result;
}

bool UpdateStage::CheckpointIsDue() const {
  if (updates_ % checkpoints_.every == 0) return true;
  return checkpoints_.seconds > 0 && clock_.seconds() - last_checkpoint_s_ >= checkpoints_.seconds;
}

void UpdateStage::TakeFromUpdater() {
  weights_ = std::make_shared<const PolicyWeights>(updater_.weights());
  std::optional<PolicyWeights> average = updater_.Averaged();
  policy_ = average ? std::make_shared<const PolicyWeights>(*std::move(average)) : weights_;
}

Snapshot UpdateStage::Save() const {
  return {weights_, policy_, updater_.SaveState(), ledger_.ToJson(), clock_.seconds()};
}

}  // namespace emplace
