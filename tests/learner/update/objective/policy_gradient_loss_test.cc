#include "learner/update/objective/policy_gradient_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

// Decisions between different numbers of choices, some of which are not allowed.
struct RandomBatch {
  explicit RandomBatch(uint64_t seed) {
    Rng rng(seed);
    for (int64_t sample = 0; sample < 6; ++sample) {
      const DecisionBlock block{.count = static_cast<int32_t>(rng.UniformInt(1, 3)),
                                .num_choices = static_cast<int32_t>(rng.UniformInt(2, 5))};
      decisions.blocks.push_back(block);
      for (int32_t i = 0; i < block.count; ++i) {
        const int64_t action = rng.UniformInt(0, block.num_choices - 1);
        for (int64_t choice = 0; choice < block.num_choices; ++choice) {
          const bool allowed = choice == action || rng.Uniform() < 0.7;
          decisions.logits.push_back(allowed ? static_cast<float>(rng.Uniform(-3, 3))
                                             : -std::numeric_limits<float>::infinity());
        }
        actions.push_back(static_cast<uint8_t>(action));
        behaviour.push_back(static_cast<float>(rng.Uniform(-3, 0)));
        advantages.push_back(static_cast<float>(rng.Uniform(-2, 2)));
        lags.push_back(rng.Uniform() < 0.5 ? 1.0F : 0.0F);
      }
    }
  }
  DecisionBatch view() const { return {actions, behaviour, advantages, lags}; }

  Decisions decisions;
  std::vector<uint8_t> actions;
  std::vector<float> behaviour;
  std::vector<float> advantages;
  std::vector<float> lags;
};

constexpr LossWeights kWeights{.importance_clip = 1.5, .entropy_weight = 0.3};

// The formula once more, row by row. `importance`: of each row, as it is at the logits that the derivative is taken at.
double NaiveLoss(const RandomBatch& batch, const std::vector<double>& logits, std::vector<double>& importance) {
  double loss = 0;
  size_t row = 0;
  size_t begin = 0;
  const bool first = importance.empty();
  for (const DecisionBlock& block : batch.decisions.blocks) {
    for (int32_t i = 0; i < block.count; ++i, ++row) {
      const auto choices = static_cast<size_t>(block.num_choices);
      double sum = 0;
      for (size_t c = 0; c < choices; ++c) sum += std::exp(logits[begin + c]);
      double entropy = 0;
      for (size_t c = 0; c < choices; ++c) {
        const double prob = std::exp(logits[begin + c]) / sum;
        if (prob > 0) entropy -= prob * std::log(prob);
      }
      const double chosen = logits[begin + batch.actions[row]] - std::log(sum);
      if (first) {
        const double ratio = std::exp(chosen - static_cast<double>(batch.behaviour[row]));
        importance.push_back(batch.lags[row] == 0.0F ? 1 : ratio);
      }
      loss -=
          std::min(kWeights.importance_clip, importance[row]) * static_cast<double>(batch.advantages[row]) * chosen +
          kWeights.entropy_weight * entropy;
      begin += choices;
    }
  }
  return loss / static_cast<double>(batch.actions.size());
}

TEST(PolicyGradientLoss, IsTheFormulaAndItsDerivative) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomBatch batch(seed);
    std::vector<float> gradient(batch.decisions.logits.size(), 7.0F);
    const LossSums sums = PolicyGradientLoss(batch.view(), kWeights, batch.decisions, batch.actions.size(), gradient);
    std::vector<double> logits(batch.decisions.logits.begin(), batch.decisions.logits.end());
    std::vector<double> importance;
    ASSERT_NEAR(sums.loss, NaiveLoss(batch, logits, importance), 1e-12);
    double mean_importance = 0;
    for (const double one : importance) mean_importance += one;
    ASSERT_NEAR(sums.importance, mean_importance, 1e-9);
    for (size_t i = 0; i < logits.size(); ++i) {
      if (std::isinf(logits[i])) {
        ASSERT_EQ(gradient[i], 0.0F);
        continue;
      }
      constexpr double kStep = 1e-5;
      const double at = logits[i];
      logits[i] = at + kStep;
      const double above = NaiveLoss(batch, logits, importance);
      logits[i] = at - kStep;
      const double below = NaiveLoss(batch, logits, importance);
      logits[i] = at;
      ASSERT_NEAR(static_cast<double>(gradient[i]), (above - below) / (2 * kStep), 1e-6) << "seed " << seed;
    }
  }
}

TEST(PolicyGradientLoss, LogitsFarFromZeroDoNotOverflow) {
  RandomBatch batch(1);
  for (float& logit : batch.decisions.logits) logit += 500;
  std::vector<float> gradient(batch.decisions.logits.size());
  const LossSums sums = PolicyGradientLoss(batch.view(), kWeights, batch.decisions, batch.actions.size(), gradient);
  EXPECT_TRUE(std::isfinite(sums.loss));
  for (const float g : gradient) EXPECT_TRUE(std::isfinite(g));
}

}  // namespace
}  // namespace emplace
