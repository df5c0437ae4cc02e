#include "actor/hardware/search/shrunk_ratios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

TEST(ShrunkRatios, AreOneWhereNothingWasObserved) {
  ShrunkRatios ratios(4);
  EXPECT_EQ(ratios.Ratio({"cpu", "mm"}), 1);
  ratios.Add({"cpu", "mm"}, 0, 5);  // What the simulator has for nothing cannot be corrected by a factor.
  ratios.Add({"cpu", "mm"}, 5, 0);
  ratios.Add({"cpu", "mm"}, 5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ratios.Ratio({"cpu", "mm"}), 1);
  ratios.Add({"cpu", "mm"}, 1, 3);
  EXPECT_EQ(ratios.Ratio({"gpu", "mm"}), 1);
}

// By hand: one observation 8 of a ratio in each class, prior weight 2. The kind: 8^(1/3) = 2. The type: (8 x
// 2^2)^(1/3). Another type of this kind has the kind's.
TEST(ShrunkRatios, AreTheMeanOfLogarithms) {
  ShrunkRatios ratios(2);
  ratios.Add({"cpu", "mm"}, 1, 8);
  EXPECT_DOUBLE_EQ(ratios.Ratio({"cpu"}), 2);
  EXPECT_DOUBLE_EQ(ratios.Ratio({"cpu", "mm"}), std::cbrt(8. * 2 * 2));
  EXPECT_DOUBLE_EQ(ratios.Ratio({"cpu", "add"}), 2);
}

// Long ops decide: 10 us that took 20, and 1000 us that took 1000, are 1020 / 1010 in all.
TEST(ShrunkRatios, AddTimesUpWithinAClass) {
  ShrunkRatios ratios(0);
  ratios.Add({"cpu"}, 10, 20);
  ratios.Add({"cpu"}, 1000, 1000);
  EXPECT_DOUBLE_EQ(ratios.Ratio({"cpu"}), 1020. / 1010);
}

// For any observations: between 1 and the extremes that were observed, the same in any order, and nearer to the class's
// own ratio the more often it was observed.
TEST(ShrunkRatios, LieBetweenOneAndWhatWasObserved) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    ShrunkRatios ratios(rng.Uniform(0.1, 20));
    ShrunkRatios backwards = ratios;
    struct Seen {
      RatioClass of;
      double given_us;
      double measured_us;
    };
    std::vector<Seen> seen;
    double least = 1;
    double most = 1;
    for (int64_t i = rng.UniformInt(1, 30); i > 0; --i) {
      const std::string type(1, static_cast<char>('a' + rng.UniformInt(0, 3)));
      const std::string shape(1, static_cast<char>('0' + rng.UniformInt(0, 3)));
      seen.push_back({{"cpu", type, shape}, rng.Uniform(1, 100), rng.Uniform(1, 100)});
      least = std::min(least, seen.back().measured_us / seen.back().given_us);
      most = std::max(most, seen.back().measured_us / seen.back().given_us);
    }
    for (const Seen& one : seen) ratios.Add(one.of, one.given_us, one.measured_us);
    for (auto one = seen.rbegin(); one != seen.rend(); ++one) backwards.Add(one->of, one->given_us, one->measured_us);
    for (const char* const type : {"a", "b", "never"}) {
      for (const char* const shape : {"0", "1", "never"}) {
        const double ratio = ratios.Ratio({"cpu", type, shape});
        EXPECT_GE(ratio, least * (1 - 1e-12));
        EXPECT_LE(ratio, most * (1 + 1e-12));
        EXPECT_NEAR(ratio, backwards.Ratio({"cpu", type, shape}), 1e-9 * ratio);
      }
    }
    const RatioClass often = {"cpu", "often", "0"};
    double last_error = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 50; ++i) {
      ratios.Add(often, 1, 7);
      const double error = std::abs(std::log(ratios.Ratio(often) / 7));
      EXPECT_LE(error, last_error + 1e-12);
      last_error = error;
    }
  }
}

}  // namespace
}  // namespace emplace
