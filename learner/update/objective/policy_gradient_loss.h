// The loss of REINFORCE with importance weights and an entropy bonus, from logits alone:
//
//   loss = -1/S * sum over decisions of [min(clip, w) * A * log pi(a|s) + entropy_weight * H(pi(.|s))],
//   w = pi(a|s) / mu(a|s) is the importance weight, a constant of the gradient: pi is the policy, mu the behaviour
//   policy, S the number of decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/player.h"

namespace emplace {

// What the loss has to know of each decision, [S] each.
struct DecisionBatch {
  std::span<const uint8_t> actions;
  std::span<const float> behaviour_log_prob;
  std::span<const float> advantages;
  // 1 where an older version chose the action, else 0. Where it is 0, the importance weight is exactly 1, although the
  // actor's kernel may round differently.
  std::span<const float> lags;
};

struct LossWeights {
  double importance_clip = 1;
  double entropy_weight = 0;
};

// Sums over decisions, so that those of several parts can be added.
struct LossSums {
  double loss = 0;
  double entropy = 0;     // In nats.
  double importance = 0;  // Of the importance weights before clipping.
  LossSums& operator+=(const LossSums& other);
};

// Adds up the decisions' parts of the loss, and writes its derivative by each logit to `logit_gradient` [logits]; it is
// 0 where a choice is not allowed. total: S, of which the decisions at hand may be a part. REQUIRES: every action is
// allowed.
LossSums PolicyGradientLoss(const DecisionBatch& batch, const LossWeights& weights, const Decisions& decisions,
                            size_t total, std::span<float> logit_gradient);

}  // namespace emplace
