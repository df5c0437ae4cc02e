#include "policy/balanced_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/error.h"
#include "common/rng.h"

namespace emplace {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

TEST(BalancedChoice, TakesTheMostLikelyWhereNoOtherIsNear) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const auto devices = static_cast<size_t>(rng.UniformInt(1, 9));
    BalancedChoice choice(devices);
    for (int group = 0; group < 50; ++group) {
      std::vector<float> logits(devices);
      for (float& logit : logits) logit = static_cast<float>(rng.Uniform(-3, 3));
      const auto best = static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(devices) - 1));
      logits[best] = 5;  // e^2 times as likely as any other.
      ASSERT_EQ(choice.Next(logits, rng.Uniform(0, 10)), best) << "seed " << seed;
    }
  }
}

// Each device has its share of the work at any time, but for one group's.
TEST(BalancedChoice, EqualDevicesShareTheWork) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const auto devices = static_cast<size_t>(rng.UniformInt(2, 9));
    const double most = rng.Uniform(0.1, 100);
    BalancedChoice choice(devices);
    std::vector<double> work_of(devices);
    double all = 0;
    for (int group = 0; group < 200; ++group) {
      const double work = rng.Uniform(0, most);
      work_of[choice.Next(std::vector<float>(devices, 7), work)] += work;
      all += work;
      for (const double work_of_device : work_of)
        ASSERT_NEAR(work_of_device, all / static_cast<double>(devices), most + 1e-6) << "seed " << seed;
    }
  }
}

TEST(BalancedChoice, DevicesThatAreNearGetWorkByTheirProbability) {
  BalancedChoice choice(3);
  const std::vector<float> logits = {std::log(2.0F), kForbidden, 0};
  std::vector<int> groups(3);
  for (int group = 0; group < 300; ++group) ++groups[choice.Next(logits, 1)];
  EXPECT_EQ(groups, (std::vector<int>{200, 0, 100}));
}

TEST(BalancedChoice, TakesNoDeviceThatIsForbidden) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    BalancedChoice choice(5);
    for (int group = 0; group < 100; ++group) {
      std::vector<float> logits(5);
      for (float& logit : logits) logit = rng.Uniform() < 0.6 ? kForbidden : static_cast<float>(rng.Uniform(-1, 1));
      logits[static_cast<size_t>(rng.UniformInt(0, 4))] = 0;
      const size_t device = choice.Next(logits, rng.Uniform() < 0.2 ? 0 : rng.Uniform());
      ASSERT_LT(device, logits.size());
      ASSERT_NE(logits[device], kForbidden) << "seed " << seed;
    }
  }
}

TEST(BalancedChoice, LogitsThatAreNoNumbersAreRefused) {
  for (const std::vector<float>& logits :
       std::vector<std::vector<float>>{{kForbidden, kForbidden}, {0, -kForbidden}, {std::nanf(""), 0}}) {
    EXPECT_THROW(BalancedChoice(2).Next(logits, 1), Error);
  }
}

}  // namespace
}  // namespace emplace
