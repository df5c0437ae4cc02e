#include "actor/trial_rollout.h"

#include "common/error.h"
#include "policy/trials/trial.h"

namespace emplace {

std::vector<Trajectory> TrialRollout::Advance(size_t /*most*/) {
  EMPLACE_CHECK(weights_ != nullptr && !waiting_.empty());
  Trajectory trial;
  trial.index = waiting_.front();
  waiting_.pop_front();
  trial.actor = actor_;
  trial.policy_version = weights_->version;
  trial.claim = Claim::kSimulated;
  if (graphs_ > 0) {
    trial.graph = static_cast<GraphId>(TrialOf(config_, graphs_, weights_->version, trial.index).problem);
  }
  trial.rho = {static_cast<float>(runner_.Run(*weights_, trial.index))};
  return {std::move(trial)};
}

}  // namespace emplace
