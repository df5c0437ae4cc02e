#include "learner/intake/episode_batch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/rng.h"

namespace emplace {
namespace {

Episode EpisodeOf(PolicyVersion version, double ratio, bool feasible = true) {
  Episode episode;
  episode.trajectory.policy_version = version;
  episode.ratio = ratio;
  episode.feasible = feasible;
  return episode;
}

TEST(EpisodeBatch, AnEpisodeIsStaleBeyondTheLargestLag) {
  // The policy is at version 20 and one episode of it has come; eight versions of lag are allowed.
  EXPECT_FALSE(IsStale(20, 20, 20, 8));
  EXPECT_FALSE(IsStale(20, 12, 20, 8));
  EXPECT_TRUE(IsStale(20, 11, 20, 8));
  EXPECT_FALSE(IsStale(20, 20, 20, 0));
  EXPECT_TRUE(IsStale(20, 19, 20, 0));
}

TEST(EpisodeBatch, TheNewestVersionInFlightIsNeverStale) {
  EXPECT_FALSE(IsStale(1000, 3, 3, 8));
  EXPECT_TRUE(IsStale(1000, 2, 3, 8));
  EXPECT_FALSE(IsStale(1000, 0, 0, 0));
}

// Actors so slow that every episode is older than the largest lag when it arrives: training must go on all the same.
TEST(EpisodeBatch, SlowActorsCannotStarveTraining) {
  Rng rng(5);
  for (int round = 0; round < 50; ++round) {
    PolicyVersion current = 0;
    PolicyVersion newest = 0;
    std::vector<PolicyVersion> actors(static_cast<size_t>(rng.UniformInt(1, 5)), 0);  // What each one plays with.
    for (int turn = 0; turn < 300; ++turn) {
      PolicyVersion& version = actors[static_cast<size_t>(rng.UniformInt(0, std::ssize(actors) - 1))];
      newest = std::max(newest, version);
      if (!IsStale(current, version, newest, 2)) current += static_cast<PolicyVersion>(rng.UniformInt(5, 20));
      version = current;  // It takes the newest weights, and is slow with them.
    }
    // Whoever plays the newest version is admitted, so at least every (actors + 1)th episode on average goes in.
    EXPECT_GE(current, 5U * 300U / (actors.size() + 1) / 2);
  }
}

TEST(EpisodeBatch, NumbersAreOverTheWholeBatch) {
  const double none = std::nan("");
  const BatchStats stats =
      StatsOf({EpisodeOf(10, 1.5), EpisodeOf(7, 0.5), EpisodeOf(9, none), EpisodeOf(10, 0.25, false)}, 10);
  EXPECT_DOUBLE_EQ(stats.mean_ratio, (1.5 + 0.5 + 0.25) / 3);  // One has nothing to be compared with.
  EXPECT_DOUBLE_EQ(stats.best_ratio, 0.5);                     // The fastest does not fit in memory.
  EXPECT_EQ(stats.lag_min, 0);
  EXPECT_DOUBLE_EQ(stats.lag_mean, (0 + 3 + 1 + 0) / 4.0);
  EXPECT_EQ(stats.lag_max, 3);
}

TEST(EpisodeBatch, WithoutComparisonThereIsNoRatio) {
  const BatchStats stats = StatsOf({EpisodeOf(1, std::nan(""))}, 1);
  EXPECT_TRUE(std::isnan(stats.mean_ratio));
  EXPECT_TRUE(std::isnan(stats.best_ratio));
}

}  // namespace
}  // namespace emplace
