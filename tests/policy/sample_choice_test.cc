#include "policy/sample_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/error.h"

namespace emplace {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(SampleChoice, DrawsEachChoiceAsOftenAsItsProbability) {
  const std::vector<float> logits = {1000.0F, -kInfinity, 1001.0F, 998.5F};  // Too large to be exponents themselves.
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - 1000);
  Rng rng(1);
  std::vector<int> drawn(logits.size());
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const Choice choice = SampleChoice(logits, rng);
    ++drawn[choice.index];
    const double log_prob = static_cast<double>(logits[choice.index]) - 1000 - std::log(sum);
    ASSERT_NEAR(choice.log_prob, log_prob, 1e-9);
  }
  EXPECT_EQ(drawn[1], 0);
  for (const size_t i : {size_t{0}, size_t{2}, size_t{3}}) {
    const double probability = std::exp(static_cast<double>(logits[i]) - 1000) / sum;
    // Five standard deviations of a binomial.
    EXPECT_NEAR(drawn[i], kDraws * probability, 5 * std::sqrt(kDraws * probability * (1 - probability))) << i;
  }
}

TEST(GreedyChoice, TakesTheFirstOfTheLargest) { EXPECT_EQ(GreedyChoice(std::vector<float>{-kInfinity, 2, 3, 3}), 2U); }

TEST(SampleChoice, LogitsThatAreNoNumbersAreRefused) {
  Rng rng(1);
  for (const std::vector<float>& logits :
       std::vector<std::vector<float>>{{-kInfinity, -kInfinity}, {0, kInfinity}, {std::nanf(""), 0}}) {
    EXPECT_THROW(SampleChoice(logits, rng), Error);
    EXPECT_THROW(GreedyChoice(logits), Error);
  }
}

}  // namespace
}  // namespace emplace
