#include "learner/update/objective/reinforce_loss.h"

#include <algorithm>

#include "learner/update/objective/action_loss.h"

namespace emplace {

LossSums ReinforceLoss::Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
                            std::span<float> logit_gradient) const {
  return AddActionLoss(batch, entropy_weight, decisions, total, logit_gradient,
                       [this](double importance, double advantage, double log_prob) -> ActionGain {
                         const double weight = std::min(importance_clip, importance) * advantage;
                         return {.value = weight * log_prob, .slope = weight};
                       });
}

}  // namespace emplace
