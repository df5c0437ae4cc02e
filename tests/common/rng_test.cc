#include "common/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr int kDraws = 20000;

TEST(Rng, ASeedMeansTheSameNumbersEverywhere) {
  // xoshiro256++ on the state that SplitMix64 makes of the seed, both written down once more.
  Rng rng(1);
  uint64_t x = 1;
  Rng::State state;
  for (uint64_t& word : state) {
    x += 0x9e3779b97f4a7c15ULL;
    uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
  EXPECT_EQ(rng.state(), state);
  for (int i = 0; i < 100; ++i) {
    const auto rotated = [](uint64_t v, int k) { return (v << k) | (v >> (64 - k)); };
    const uint64_t expected = rotated(state[0] + state[3], 23) + state[0];
    const uint64_t t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotated(state[3], 45);
    ASSERT_EQ(rng.Next(), expected);
  }
}

TEST(Rng, ForksDependOnNameIndexAndSeedAlone) {
  Rng a(7);
  const uint64_t first = a.Fork("actor", 3).Next();
  a.Next();
  EXPECT_EQ(a.Fork("actor", 3).Next(), first);
  std::set<uint64_t> others = {first};
  EXPECT_TRUE(others.insert(a.Fork("actor", 4).Next()).second);
  EXPECT_TRUE(others.insert(a.Fork("graph", 3).Next()).second);
  EXPECT_TRUE(others.insert(Rng(8).Fork("actor", 3).Next()).second);
  EXPECT_TRUE(others.insert(a.Fork("actor", 3).Fork("actor", 3).Next()).second);
}

TEST(Rng, GoesOnFromItsState) {
  Rng a(9);
  a.Next();
  Rng b = Rng::FromState(a.seed(), a.state());
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_EQ(a.Fork("x").Next(), b.Fork("x").Next());
}

TEST(Rng, UniformIntReachesBothEndsEvenly) {
  Rng rng(2);
  std::vector<int> count(7);
  for (int i = 0; i < kDraws; ++i) ++count.at(static_cast<size_t>(rng.UniformInt(-3, 3) + 3));
  for (const int of_value : count) EXPECT_NEAR(of_value, kDraws / 7.0, 5 * std::sqrt(kDraws / 7.0));
  EXPECT_EQ(rng.UniformInt(5, 5), 5);
  // The widest range of all.
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const int64_t value = rng.UniformInt(INT64_MIN, INT64_MAX);
    negative |= value < 0;
    positive |= value > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Rng, PicksAndShufflesByUniformInt) {
  Rng rng(4);
  Rng by_hand(4);
  std::vector<int> list = {1, 2, 3, 4, 5};
  EXPECT_EQ(rng.Index(7), static_cast<size_t>(by_hand.UniformInt(0, 6)));
  EXPECT_EQ(OneOf(rng, list), list[static_cast<size_t>(by_hand.UniformInt(0, 4))]);
  std::vector<int> shuffled = list;
  Shuffle(rng, shuffled);
  for (const int64_t last : {4, 3, 2, 1})
    std::swap(list[static_cast<size_t>(last)], list[static_cast<size_t>(by_hand.UniformInt(0, last))]);
  EXPECT_EQ(shuffled, list);
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  Rng rng(3);
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.Uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    const double v = rng.Uniform(2, 4);
    ASSERT_TRUE(v >= 2 && v < 4);
    const double n = rng.Normal();
    normal_sum += n;
    normal_squares += n * n;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.01);
  EXPECT_NEAR(normal_sum / kDraws, 0, 0.04);
  EXPECT_NEAR(normal_squares / kDraws, 1, 0.05);
}

TEST(Rng, CategoricalFollowsItsWeights) {
  Rng rng(4);
  const std::vector<double> weights = {1, 0, 3};
  std::vector<int> count(3);
  for (int i = 0; i < kDraws; ++i) ++count.at(rng.Categorical(weights));
  EXPECT_EQ(count[1], 0);
  EXPECT_NEAR(count[2], 0.75 * kDraws, 0.02 * kDraws);
}

}  // namespace
}  // namespace emplace
