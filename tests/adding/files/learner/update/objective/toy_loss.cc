#include "learner/update/objective/toy_loss.h"

#include "learner/update/objective/action_loss.h"

namespace emplace {

LossSums ToyLoss::Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
                      std::span<float> logit_gradient) const {
  return AddActionLoss(batch, entropy_weight, decisions, total, logit_gradient,
                       [](double /*importance*/, double advantage, double log_prob) -> ActionGain {
                         return {.value = advantage * log_prob, .slope = advantage};
                       });
}

}  // namespace emplace
