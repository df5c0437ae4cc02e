#include "learner/update/objective/entropy_control.h"

#include <gtest/gtest.h>

#include <cmath>

namespace emplace {
namespace {

TrainingConfig Config(EntropyGoal entropy) {
  TrainingConfig config;
  config.entropy = entropy;
  config.entropy_start = 0.8;
  config.entropy_end = 0.2;
  config.entropy_decay_updates = 100;
  return config;
}

TEST(EntropyControl, AWeightFollowsTheSchedule) {
  EntropyControl control(Config(EntropyGoal::kWeight), 2);
  EXPECT_DOUBLE_EQ(control.Weight(0), 0.8);
  EXPECT_DOUBLE_EQ(control.Weight(50), 0.5);
  control.Observe(50, 0);
  EXPECT_DOUBLE_EQ(control.Weight(100), 0.2);
  EXPECT_DOUBLE_EQ(control.Weight(1000), 0.2);
}

// A policy whose entropy is a rising function of the weight, whichever: the weight finds what brings it to the target.
TEST(EntropyControl, ATargetIsReachedWhateverTheWeightThatTakes) {
  for (const double needed : {0.003, 0.1, 0.9}) {
    EntropyControl control(Config(EntropyGoal::kTarget), 4);
    const double largest = std::log(4.0);
    double entropy = 0;
    for (PolicyVersion version = 0; version < 2000; ++version) {
      // Half of the way to the largest at a weight of 4 * needed; a fifth, the target in the end, at `needed`.
      const double weight = control.Weight(version);
      entropy = largest * weight / (weight + 4 * needed);
      control.Observe(version, entropy);
    }
    EXPECT_NEAR(entropy / largest, 0.2, 0.01) << needed;
    EXPECT_NEAR(control.Weight(2000), needed, 0.1 * needed);
  }
}

TEST(EntropyControl, TheSteeredWeightStaysInBounds) {
  EntropyControl control(Config(EntropyGoal::kTarget), 2);
  for (PolicyVersion version = 0; version < 5000; ++version) control.Observe(version, 0);
  EXPECT_DOUBLE_EQ(control.Weight(5000), 2);
  for (PolicyVersion version = 0; version < 5000; ++version) control.Observe(version, std::log(2.0));
  EXPECT_DOUBLE_EQ(control.Weight(5000), 1e-4);
  control.Observe(0, std::nan(""));
  EXPECT_DOUBLE_EQ(control.Weight(5000), 1e-4);
}

TEST(EntropyControl, GoesOnFromASavedWeight) {
  EntropyControl control(Config(EntropyGoal::kTarget), 2);
  for (PolicyVersion version = 0; version < 30; ++version) control.Observe(version, 0.1);
  EntropyControl resumed(Config(EntropyGoal::kTarget), 2);
  resumed.LoadSteeredWeight(control.steered_weight());
  control.Observe(30, 0.3);
  resumed.Observe(30, 0.3);
  EXPECT_EQ(control.Weight(31), resumed.Weight(31));
}

}  // namespace
}  // namespace emplace
