#include "learner/actors/run_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/rng.h"
#include "policy/config/run_config.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(RunAhead, AllTogetherAreUnderWayForHalfOfTheLag) {
  Rng rng(1);
  for (uint64_t trial = 0; trial < Trials(200); ++trial) {
    RunConfig config;
    config.training.episodes_per_update = rng.UniformInt(1, 64);
    config.training.max_lag = rng.UniformInt(0, 20);
    config.environment.episodes_per_start = rng.UniformInt(1, 8);
    const int64_t actors = rng.UniformInt(1, 100);
    const int64_t together = config.environment.episodes_per_start;
    const int64_t all = config.training.episodes_per_update * std::max<int64_t>(1, config.training.max_lag / 2);
    const int64_t most = MostUnderWay(config, actors);
    EXPECT_GE(most, together);
    EXPECT_EQ(most % together, 0);
    EXPECT_TRUE(most == together || most * actors <= all);
    EXPECT_GT((most + together) * actors, all);
  }
}

TEST(RunAhead, OneActorCanFillAnUpdate) {
  RunConfig config;
  config.training.max_lag = 0;
  EXPECT_EQ(MostUnderWay(config, 1), config.training.episodes_per_update);
}

TEST(RunAhead, LockstepHasNoLimit) {
  RunConfig config;
  config.training.sync = Sync::kLockstep;
  EXPECT_EQ(MostUnderWay(config, 3), 0);
}

}  // namespace
}  // namespace emplace
