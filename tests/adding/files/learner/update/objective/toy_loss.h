// The loss of REINFORCE without importance weights, with an entropy bonus:
//
//   loss = -1/S * sum over decisions of [A log pi(a|s) + entropy_weight * H(pi(.|s))]
#pragma once

#include "learner/update/objective/decision_loss.h"

namespace emplace {

struct ToyLoss final : DecisionLoss {
  explicit ToyLoss(double entropy) : entropy_weight(entropy) {}
  LossSpec spec() const override { return {LossKind::kToy, 0, entropy_weight}; }
  LossSums Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
               std::span<float> logit_gradient) const override;

  double entropy_weight;
};

}  // namespace emplace
