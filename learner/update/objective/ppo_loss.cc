#include "learner/update/objective/ppo_loss.h"

#include <algorithm>

#include "learner/update/objective/action_loss.h"

namespace emplace {

LossSums PpoLoss::Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
                      std::span<float> logit_gradient) const {
  return AddActionLoss(batch, entropy_weight, decisions, total, logit_gradient,
                       [this](double importance, double advantage, double /*log_prob*/) -> ActionGain {
                         const double free = importance * advantage;
                         const double clipped = std::clamp(importance, 1 - clip, 1 + clip) * advantage;
                         // The derivative of w by log pi is w; what is clipped does not change with pi.
                         return free <= clipped ? ActionGain{.value = free, .slope = free}
                                                : ActionGain{.value = clipped, .slope = 0};
                       });
}

}  // namespace emplace
