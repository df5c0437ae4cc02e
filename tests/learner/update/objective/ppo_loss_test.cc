#include "learner/update/objective/ppo_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/learner/update/objective/random_decisions.h"

namespace emplace {
namespace {

const PpoLoss kPpo(/*clip_range=*/0.2, /*entropy=*/0.3);

TEST(PpoLoss, IsTheFormula) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const RandomDecisions batch(seed);
    std::vector<float> gradient(batch.decisions.logits.size());
    const LossSums sums = kPpo.Add(batch.view(), batch.decisions, batch.actions.size(), gradient);
    const std::vector<double> logits(batch.decisions.logits.begin(), batch.decisions.logits.end());
    const NaiveGain gain = [](double w, double advantage, double) {
      return std::min(w * advantage, std::clamp(w, 0.8, 1.2) * advantage);
    };
    ASSERT_NEAR(sums.loss, NaiveLoss(batch, logits, 0.3, gain), 1e-12);
  }
}

// Here every decision lags, so that w depends on the logits wherever it counts.
TEST(PpoLoss, GradientIsTheDerivative) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomDecisions batch(seed);
    std::ranges::fill(batch.lags, 1.0F);
    std::vector<float> gradient(batch.decisions.logits.size());
    kPpo.Add(batch.view(), batch.decisions, batch.actions.size(), gradient);
    const NaiveGain gain = [](double w, double advantage, double) {
      return std::min(w * advantage, std::clamp(w, 0.8, 1.2) * advantage);
    };
    ExpectDerivative(batch, gradient, [&](const std::vector<double>& at) { return NaiveLoss(batch, at, 0.3, gain); });
  }
}

// One decision between two, with no entropy bonus: what has moved too far in its favour counts no more, what has moved
// too far against it does.
TEST(PpoLoss, OnlyWhatItFavoursIsLeftOut) {
  const PpoLoss loss(0.2, 0);
  const Decisions decisions{.blocks = {{.count = 1, .num_choices = 2}}, .logits = {0, 0}};  // pi = 1/2 each.
  const std::vector<uint8_t> actions = {0};
  const std::vector<float> lags = {1};
  std::vector<float> gradient(2);
  const auto slope = [&](float behaviour_prob, float advantage) {
    const std::vector<float> behaviour = {std::log(behaviour_prob)};
    const std::vector<float> advantages = {advantage};
    loss.Add({actions, behaviour, advantages, lags}, decisions, 1, gradient);
    return gradient[0];
  };
  EXPECT_EQ(slope(0.25F, 1), 0.0F);         // w = 2: twice as likely already.
  EXPECT_FLOAT_EQ(slope(0.25F, -1), 1.0F);  // w * A * (1 - pi) = -2 / 2: it must become less likely again.
  EXPECT_EQ(slope(0.8F, -1), 0.0F);         // w = 0.625
  EXPECT_FLOAT_EQ(slope(0.8F, 1), -0.3125F);
}

}  // namespace
}  // namespace emplace
