// The clipped loss of PPO (Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equation 7) with an
// entropy bonus:
//
//   loss = -1/S * sum over decisions of [min(w * A, clamp(w, 1 - clip, 1 + clip) * A) + entropy_weight * H(pi(.|s))],
//   w = pi(a|s) / mu(a|s): pi is the policy, mu the behaviour policy, S the number of decisions.
#pragma once

#include "learner/update/objective/decision_loss.h"

namespace emplace {

struct PpoLoss final : DecisionLoss {
  PpoLoss(double clip_range, double entropy) : clip(clip_range), entropy_weight(entropy) {}
  LossSpec spec() const override { return {LossKind::kPpo, clip, entropy_weight}; }
  LossSums Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
               std::span<float> logit_gradient) const override;

  double clip;  // In (0, 1): how far w may be from 1 before a decision that it favours counts no more.
  double entropy_weight;
};

}  // namespace emplace
