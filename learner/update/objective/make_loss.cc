#include "learner/update/objective/make_loss.h"

#include "common/error.h"
#include "learner/update/objective/ppo_loss.h"
#include "learner/update/objective/reinforce_loss.h"

namespace emplace {

std::unique_ptr<DecisionLoss> MakeLoss(const LossSpec& spec) {
  switch (spec.kind) {
    case LossKind::kReinforce:
      return std::make_unique<ReinforceLoss>(spec.clip, spec.entropy_weight);
    case LossKind::kPpo:
      return std::make_unique<PpoLoss>(spec.clip, spec.entropy_weight);
  }
  EMPLACE_CHECK(false);
  return nullptr;
}

}  // namespace emplace
