#include "simulator/instances/draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace emplace {
namespace {

TEST(Draws, PowerIsThatOfTheLibrary) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const double base = rng.Uniform(0.1, 1000);
    const double exponent = rng.Uniform(-4, 4);
    EXPECT_NEAR(Power(base, exponent) / std::pow(base, exponent), 1, 1e-6) << base << "^" << exponent;
  }
}

TEST(Draws, LogUniformIsEvenOverDecades) {
  Rng rng(2);
  std::map<int, int> by_decade;
  for (int i = 0; i < 3000; ++i) {
    const double draw = LogUniform(rng, 1, 1000);
    ASSERT_GE(draw, 1);
    ASSERT_LT(draw, 1000);
    ++by_decade[static_cast<int>(std::floor(std::log10(draw)))];
  }
  for (const auto& [decade, count] : by_decade) EXPECT_NEAR(count, 1000, 100) << decade;
}

TEST(Draws, LogUniformIntReachesBothEnds) {
  Rng rng(3);
  std::map<int64_t, int> counts;
  for (int i = 0; i < 1000; ++i) ++counts[LogUniformInt(rng, 2, 5)];
  EXPECT_EQ(counts.size(), 4u);
  EXPECT_EQ(counts.begin()->first, 2);
  EXPECT_EQ(counts.rbegin()->first, 5);
}

TEST(Draws, LogNormalHasItsSigma) {
  Rng rng(4);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 10000;
  for (int i = 0; i < kDraws; ++i) {
    const double z = std::log(LogNormal(rng, 0.5));
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.5, 0.02);
}

TEST(Draws, MicrobatchesAreFewInSmallGraphs) {
  Rng rng(5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(DrawMicrobatches(rng, 16), 1);
  std::map<int32_t, int> counts;
  for (int i = 0; i < 1000; ++i) ++counts[DrawMicrobatches(rng, 1000)];
  EXPECT_NEAR(counts[1], 500, 60);
  EXPECT_EQ(counts.rbegin()->first, 8);
}

}  // namespace
}  // namespace emplace
