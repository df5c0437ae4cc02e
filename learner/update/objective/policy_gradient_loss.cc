#include "learner/update/objective/policy_gradient_loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/error.h"
#include "policy/sample_choice.h"

namespace emplace {
namespace {

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
  double entropy = 0;
};

}  // namespace

LossSums& LossSums::operator+=(const LossSums& other) {
  loss += other.loss;
  entropy += other.entropy;
  importance += other.importance;
  return *this;
}

LossSums PolicyGradientLoss(const DecisionBatch& batch, const LossWeights& weights, const Decisions& decisions,
                            size_t total, std::span<float> logit_gradient) {
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
    const double weight = std::min(weights.importance_clip, importance) * static_cast<double>(batch.advantages[row]);
    sums.loss -= share * (weight * chosen + weights.entropy_weight * softmax.entropy);
    sums.entropy += softmax.entropy;
    sums.importance += importance;
    for (size_t choice = 0; choice < logits.size(); ++choice) {
      const double prob = softmax.prob[choice];
      double slope = 0;
      if (prob > 0) {
        slope = weight * ((choice == action ? 1.0 : 0.0) - prob) -
                weights.entropy_weight * prob * (softmax.log_prob[choice] + softmax.entropy);
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
