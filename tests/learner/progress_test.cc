#include "learner/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace emplace {
namespace {

using testing::HasSubstr;

RunConfig Config() {
  RunConfig config;
  config.training.iterations = 100;
  config.actor.send_queue = 8;
  return config;
}

BatchNumbers Batch(double mean, double best, int64_t lag_min, double lag_mean, int64_t lag_max) {
  return {mean, best, lag_min, lag_mean, lag_max};
}

TEST(Progress, ALineTellsOfTheTimeSinceTheLineBefore) {
  Progress progress(Config(), 0, 0);
  Progress::Now now;
  now.updates = 10;
  now.seconds = 5;
  now.front_end.episodes = 50;
  now.front_end.steps = 1000;
  now.front_end.actors_alive = 2;
  now.front_end.actors_gone = 1;
  now.ledger = {60, 40, 5, 3, 12};
  progress.AddBatch(Batch(1.5, 0.75, 1, 2, 3));
  progress.AddBatch(Batch(0.5, 0.875, 0, 1, 2));
  // 50 episodes and 1000 steps in 5 s; mean (1.5 + 0.5) / 2, lag (2 + 1) / 2; 90 of 100 updates left at 0.5 s each.
  EXPECT_EQ(progress.Line(now),
            "iteration 10/100 | 10.0 episodes/s 200 steps/s | makespan / one device: mean 1.000 best 0.750 | lag 0/1.5/3 | "
            "limited by learner | actors 2 (1 gone) | 60 episodes: 40 trained 5 stale 3 rejected | 0:00:45 left");

  now.updates = 11;
  now.seconds = 7;
  now.front_end.episodes = 54;
  progress.AddBatch(Batch(0.25, 0.9, 4, 4, 4));
  const std::string line = progress.Line(now);
  EXPECT_THAT(line, HasSubstr("2.0 episodes/s 0 steps/s"));
  EXPECT_THAT(line, HasSubstr("mean 0.250 best 0.750 | lag 4/4.0/4"));  // The best is that of the whole sitting.

  now.seconds = 8;
  EXPECT_THAT(progress.Line(now), HasSubstr("no update since the last line"));
}

TEST(Progress, TheLimitingStageIsWhatTheOthersWaitFor) {
  Progress progress(Config(), 0, 0);
  Progress::Now now;
  now.front_end.actors_alive = 2;
  const auto limited_by = [&](double waiting_share, int64_t under_way) {
    now.seconds += 10;
    now.stages.waiting += 10 * waiting_share;
    now.front_end.under_way = under_way;
    const std::string line = progress.Line(now);
    const size_t at = line.find("limited by ") + 11;
    return line.substr(at, line.find(' ', at) - at);
  };
  EXPECT_EQ(limited_by(0.1, 0), "learner");
  EXPECT_EQ(limited_by(0.1, 16), "learner");  // Everything piles up before a learner that is never idle.
  EXPECT_EQ(limited_by(0.9, 1), "actors");
  EXPECT_EQ(limited_by(0.9, 9), "network");   // More than half of what two actors can hold, and the learner waits.
  EXPECT_EQ(limited_by(0.9, 8), "actors");
}

TEST(Progress, TimeLeftIsBoundByUpdatesAndByTheClock) {
  RunConfig config = Config();
  config.training.max_minutes = 10;
  Progress progress(config, 40, 60);  // Resumed after 40 updates and one minute.
  Progress::Now now;
  now.updates = 40;
  now.seconds = 70;
  EXPECT_THAT(progress.Line(now), HasSubstr("0:08:50 left"));  // 600 s - 70 s: no rate is known yet.
  now.updates = 50;
  now.seconds = 80;  // 2 s an update, 50 to go.
  EXPECT_THAT(progress.Line(now), HasSubstr("0:01:40 left"));
  now.seconds = 660;
  EXPECT_THAT(progress.Line(now), HasSubstr("0:00:00 left"));

  Progress endless(Config(), 0, 0);
  EXPECT_THAT(endless.Line({}), HasSubstr("? left"));
}

TEST(Progress, GraphsWithoutComparisonLeaveNoNumber) {
  Progress progress(Config(), 0, 0);
  progress.AddBatch(Batch(std::nan(""), std::nan(""), 0, 0, 0));
  EXPECT_THAT(progress.Line({}), HasSubstr("mean nan best nan"));
  progress.AddBatch(Batch(std::nan(""), std::nan(""), 0, 0, 0));
  progress.AddBatch(Batch(0.5, 0.5, 0, 0, 0));
  EXPECT_THAT(progress.Line({}), HasSubstr("mean 0.500 best 0.500"));
}

TEST(StageClock, AllTimeGoesSomewhere) {
  StageClock clock;
  clock.Spent(&StageSeconds::waiting);
  clock.Spent(&StageSeconds::updating);
  const StageSeconds before = clock.total();
  clock.Spent(&StageSeconds::waiting);
  const StageSeconds since = clock.total() - before;
  EXPECT_GE(since.waiting, 0);
  EXPECT_EQ(since.updating, 0);
  EXPECT_EQ(since.other, 0);
}

}  // namespace
}  // namespace emplace
