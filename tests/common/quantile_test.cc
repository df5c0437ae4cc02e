#include "common/quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

std::vector<double> RandomSamples(Rng& rng) {
  std::vector<double> samples(static_cast<size_t>(rng.UniformInt(1, 40)));
  for (double& sample : samples) sample = static_cast<double>(rng.UniformInt(0, 20));
  return samples;
}

// At least a share of the samples is at most the quantile of the sample above it, and the same from the other side.
TEST(Quantile, HasItsShareOfTheSamplesOnEitherSide) {
  Rng rng(1);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<double> samples = RandomSamples(rng);
    const double share = rng.Uniform();
    const double quantile = Quantile(samples, share);
    const auto below = std::count_if(samples.begin(), samples.end(), [&](double s) { return s < quantile; });
    const auto up_to = std::count_if(samples.begin(), samples.end(), [&](double s) { return s <= quantile; });
    const double position = share * static_cast<double>(samples.size() - 1);
    EXPECT_LE(static_cast<double>(below), position + 1);
    EXPECT_GE(static_cast<double>(up_to), position);
  }
}

TEST(Quantile, IsLinearBetweenSamples) {
  // Positions 0, 1, 2; 0.75 of the way is position 1.5.
  EXPECT_DOUBLE_EQ(Quantile({30, 10, 20}, 0.75), 25);
  EXPECT_DOUBLE_EQ(Quantile({30, 10, 20}, 0), 10);
  EXPECT_DOUBLE_EQ(Quantile({30, 10, 20}, 1), 30);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.3), 7);
}

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({30, 10, 20}), 20);
  EXPECT_EQ(Median({4, 1, 3, 100}), 3.5);
}

TEST(Median, IsTheQuantileAtOneHalf) {
  Rng rng(2);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<double> samples = RandomSamples(rng);
    EXPECT_DOUBLE_EQ(Median(samples), Quantile(samples, 0.5));
  }
}

}  // namespace
}  // namespace emplace
