#include "learner/update/objective/reinforce_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/learner/update/objective/random_decisions.h"

namespace emplace {
namespace {

const ReinforceLoss kReinforce(/*clip=*/1.5, /*entropy=*/0.3);

double Gain(double importance, double advantage, double log_prob) {
  return std::min(1.5, importance) * advantage * log_prob;
}

TEST(ReinforceLoss, IsTheFormulaAndItsDerivative) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomDecisions batch(seed);
    std::vector<float> gradient(batch.decisions.logits.size(), 7.0F);
    const LossSums sums = kReinforce.Add(batch.view(), batch.decisions, batch.actions.size(), gradient);
    const std::vector<double> logits(batch.decisions.logits.begin(), batch.decisions.logits.end());
    std::vector<double> importance;
    ASSERT_NEAR(sums.loss, NaiveLoss(batch, logits, 0.3, Gain, &importance), 1e-12);
    ASSERT_NEAR(sums.importance, std::accumulate(importance.begin(), importance.end(), 0.0), 1e-9);
    // Importance weights are constants of the gradient: those at the logits that the derivative is taken at.
    size_t row = 0;
    const NaiveGain with_constants = [&](double, double advantage, double log_prob) {
      return Gain(importance[row++ % importance.size()], advantage, log_prob);
    };
    ExpectDerivative(batch, gradient,
                     [&](const std::vector<double>& at) { return NaiveLoss(batch, at, 0.3, with_constants); });
  }
}

TEST(ReinforceLoss, LogitsFarFromZeroDoNotOverflow) {
  RandomDecisions batch(1);
  for (float& logit : batch.decisions.logits) logit += 500;
  std::vector<float> gradient(batch.decisions.logits.size());
  const LossSums sums = kReinforce.Add(batch.view(), batch.decisions, batch.actions.size(), gradient);
  EXPECT_TRUE(std::isfinite(sums.loss));
  for (const float g : gradient) EXPECT_TRUE(std::isfinite(g));
}

}  // namespace
}  // namespace emplace
