#include "learner/actors/run_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/rng.h"
#include "policy/config/run_config.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(RunAhead, WhatIsUnderWayIsFreshAndStepsAreOfWholeGroups) {
  Rng rng(1);
  for (uint64_t trial = 0; trial < Trials(500); ++trial) {
    RunConfig config;
    config.training.episodes_per_update = rng.UniformInt(1, 64);
    config.training.max_lag = rng.UniformInt(0, 20);
    config.learner.buffer = rng.UniformInt(1, 64);
    config.environment.episodes_per_start = rng.UniformInt(1, 8);
    const int64_t actors = rng.UniformInt(1, 100);
    const RunAhead each = RunAheadOfEach(config, actors);
    const auto most = static_cast<int64_t>(each.most), step = static_cast<int64_t>(each.step);
    const int64_t together = config.environment.episodes_per_start, of_update = config.training.episodes_per_update;
    EXPECT_GE(most, together);
    EXPECT_EQ(most % together, 0);
    EXPECT_EQ(step % together, 0);
    EXPECT_LE(step, most);
    if (most > together && most * actors > of_update) {
      EXPECT_LE(2 * most * actors, of_update * config.training.max_lag);
      // Updates that come before the one of the last of all these episodes, with what waits in the learner.
      EXPECT_LE((most * actors + config.learner.buffer) / of_update + 2, config.training.max_lag);
    }
    EXPECT_GE((most + together) * actors, of_update);  // An update can be filled.
  }
}

// An actor that plays whenever it may, and whose episodes come in order, never waits for ever.
TEST(RunAhead, TheLimitMovesOnWhenAllHasCome) {
  for (uint64_t together = 1; together <= 9; ++together) {
    for (uint64_t groups = 1; groups <= 9; ++groups) {
      const RunAhead each{.most = groups * together, .step = std::max<uint64_t>(1, groups / 2) * together};
      uint64_t told = each.Limit(0), produced = 0;
      for (uint64_t newest = 1; newest <= 500; ++newest) {
        produced = std::max(produced, told);
        ASSERT_GE(produced, newest);
        EXPECT_LE(produced - newest, each.most);
        if (newest % each.step == 0) told = each.Limit(newest);
        EXPECT_EQ(told % together, 0U);
      }
    }
  }
}

TEST(RunAhead, OneActorCanFillAnUpdate) {
  RunConfig config;
  config.training.max_lag = 0;
  EXPECT_EQ(RunAheadOfEach(config, 1).most, static_cast<uint64_t>(config.training.episodes_per_update));
}

TEST(RunAhead, LockstepHasNoLimit) {
  RunConfig config;
  config.training.sync = Sync::kLockstep;
  EXPECT_EQ(RunAheadOfEach(config, 3).Limit(100), 0U);
}

}  // namespace
}  // namespace emplace
