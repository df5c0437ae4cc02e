// The loss of REINFORCE with importance weights and an entropy bonus:
//
//   loss = -1/S * sum over decisions of [min(clip, w) * A * log pi(a|s) + entropy_weight * H(pi(.|s))],
//   w = pi(a|s) / mu(a|s) is the importance weight, a constant of the gradient: pi is the policy, mu the behaviour
//   policy, S the number of decisions.
#pragma once

#include "learner/update/objective/decision_loss.h"

namespace emplace {

struct ReinforceLoss final : DecisionLoss {
  ReinforceLoss(double clip, double entropy) : importance_clip(clip), entropy_weight(entropy) {}
  LossSpec spec() const override { return {LossKind::kReinforce, importance_clip, entropy_weight}; }
  LossSums Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
               std::span<float> logit_gradient) const override;

  double importance_clip;
  double entropy_weight;
};

}  // namespace emplace
