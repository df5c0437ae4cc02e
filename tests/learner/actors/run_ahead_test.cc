#include "learner/actors/run_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/rng.h"
#include "policy/config/training_config.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(RunAhead, AllTogetherAreUnderWayForHalfOfTheLag) {
  Rng rng(1);
  for (uint64_t trial = 0; trial < Trials(200); ++trial) {
    TrainingConfig training;
    training.episodes_per_update = rng.UniformInt(1, 64);
    training.max_lag = rng.UniformInt(0, 20);
    const int64_t actors = rng.UniformInt(1, 100);
    const int64_t most = MostUnderWay(training, actors);
    EXPECT_GE(most, 1);
    const int64_t updates = std::max<int64_t>(1, training.max_lag / 2);
    EXPECT_TRUE(most == 1 || most * actors <= training.episodes_per_update * updates);
    EXPECT_GT((most + 1) * actors, training.episodes_per_update * updates);
  }
}

TEST(RunAhead, OneActorCanFillAnUpdate) {
  TrainingConfig training;
  training.max_lag = 0;
  EXPECT_EQ(MostUnderWay(training, 1), training.episodes_per_update);
}

TEST(RunAhead, LockstepHasNoLimit) {
  TrainingConfig training;
  training.sync = Sync::kLockstep;
  EXPECT_EQ(MostUnderWay(training, 3), 0);
}

}  // namespace
}  // namespace emplace
