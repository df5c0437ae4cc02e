// The loop that the losses of policy gradients share:
//
//   loss = -1/S * sum over decisions of [f(pi(a|s)) + entropy_weight * H(pi(.|s))],
//
// where f, the gain of the action that was taken, is what they differ in.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "common/error.h"
#include "learner/update/objective/decision_loss.h"
#include "policy/sample_choice.h"

namespace emplace {

// The softmax of a row of logits.
struct Softmax {
  explicit Softmax(std::span<const float> logits) {
    const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
    const double log_sum = largest + std::log(sum);
    for (size_t i = 0; i < logits.size(); ++i) {
      log_prob[i] = static_cast<double>(logits[i]) - log_sum;
      prob[i] = std::exp(log_prob[i]);
      // A choice that is not allowed has probability 0 and log-probability -infinity: it adds nothing to the entropy.
      if (prob[i] > 0) entropy -= prob[i] * log_prob[i];
    }
  }

  std::array<double, kMaxChoices> log_prob;  // Of the choices there are; the rest is not set.
  std::array<double, kMaxChoices> prob;
  double entropy = 0;  // In nats.
};

// f for one decision: its value, and its derivative by log pi(a|s).
struct ActionGain {
  double value = 0;
  double slope = 0;
};

// As DecisionLoss::Add says. gain(importance, advantage, log pi(a|s)) returns the ActionGain; importance is pi(a|s) /
// mu(a|s), where pi is the policy and mu the behaviour policy.
template <typename Gain>
LossSums AddActionLoss(const DecisionBatch& batch, double entropy_weight, const Decisions& decisions, size_t total,
                       std::span<float> logit_gradient, Gain&& gain) {
  EMPLACE_CHECK(logit_gradient.size() == decisions.logits.size() && total > 0);
  const double share = 1 / static_cast<double>(total);
  LossSums sums;
  size_t row = 0;
  ForEachDecision(decisions, [&](size_t /*sample*/, std::span<const float> logits) {
    const Softmax softmax(logits);
    const size_t action = batch.actions[row];
    const double chosen = softmax.log_prob[action];
    const double importance =
        std::exp((chosen - static_cast<double>(batch.behaviour_log_prob[row])) * static_cast<double>(batch.lags[row]));
    const ActionGain taken = gain(importance, static_cast<double>(batch.advantages[row]), chosen);
    sums.loss -= share * (taken.value + entropy_weight * softmax.entropy);
    sums.entropy += softmax.entropy;
    sums.importance += importance;
    for (size_t choice = 0; choice < logits.size(); ++choice) {
      const double prob = softmax.prob[choice];
      double slope = 0;
      if (prob > 0) {
        slope = taken.slope * ((choice == action ? 1.0 : 0.0) - prob) -
                entropy_weight * prob * (softmax.log_prob[choice] + softmax.entropy);
      }
      logit_gradient[choice] = static_cast<float>(-share * slope);
    }
    logit_gradient = logit_gradient.subspan(logits.size());
    ++row;
  });
  EMPLACE_CHECK(row == batch.actions.size() && logit_gradient.empty());
  return sums;
}

}  // namespace emplace
