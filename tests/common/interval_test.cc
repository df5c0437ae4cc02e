#include "common/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

TEST(Interval, IsStudents) {
  // Mean 3, variance 2.5 of five values: 2.776 * sqrt(2.5 / 5) on each side.
  const double values[] = {1, 2, 3, 4, 5};
  const Interval interval = MeanWithInterval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_NEAR(interval.high - 3, 2.776 * std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(3 - interval.low, 2.776 * std::sqrt(0.5), 1e-12);
}

TEST(Interval, IsAPointWithOneValueAndNothingWithNone) {
  const double one[] = {7};
  EXPECT_EQ(MeanWithInterval(one).low, 7);
  EXPECT_EQ(MeanWithInterval(one).high, 7);
  EXPECT_TRUE(std::isnan(MeanWithInterval({}).mean));
}

TEST(Interval, OfADifferenceIsWelchs) {
  // Variances of the means: 1 / 3 and 4 / 3; 5/3 squared over ((1/3)^2 / 2 + (4/3)^2 / 2) is 2.94 degrees: 2, so 4.303.
  const double a[] = {4, 5, 6};
  const double b[] = {1, 3, 5};
  const Interval interval = DifferenceOfMeans(a, b);
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_NEAR(interval.high - 2, 4.303 * std::sqrt(5.0 / 3), 1e-12);
  EXPECT_NEAR(2 - interval.low, 4.303 * std::sqrt(5.0 / 3), 1e-12);
}

TEST(Interval, OfADifferenceWithoutSpreadIsAPoint) {
  const double a[] = {2, 2};
  const double b[] = {1, 1};
  EXPECT_EQ(DifferenceOfMeans(a, b).low, 1);
  EXPECT_EQ(DifferenceOfMeans(a, b).high, 1);
}

// The promise itself: of many intervals for the difference of two populations, 95% hold it.
TEST(Interval, HoldsTheDifferenceNineteenTimesInTwenty) {
  Rng rng(3);
  // A sum of twelve uniforms is normal enough.
  const auto normal = [&rng](double mean, double deviation) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += rng.Uniform();
    return mean + deviation * sum;
  };
  constexpr int kTrials = 4000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < 8; ++i) a.push_back(normal(1, 1));
    for (int i = 0; i < 12; ++i) b.push_back(normal(0.5, 3));
    const Interval interval = DifferenceOfMeans(a, b);
    if (interval.low <= 0.5 && 0.5 <= interval.high) ++held;
  }
  EXPECT_NEAR(held / static_cast<double>(kTrials), 0.95, 0.015);
}

}  // namespace
}  // namespace emplace
