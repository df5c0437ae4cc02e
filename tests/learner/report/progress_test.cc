#include "learner/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "learner/actors/run_ahead.h"

namespace emplace {
namespace {

using testing::HasSubstr;

RunConfig Config() {
  RunConfig config;
  config.training.iterations = 100;
  config.actor.send_queue = 8;
  return config;
}

BatchStats Numbers(double mean, double best, int64_t lag_min, double lag_mean, int64_t lag_max) {
  return {mean, best, lag_min, lag_mean, lag_max};
}

TEST(Progress, ALineTellsOfTheTimeSinceTheLineBefore) {
  Progress progress(Config(), 0, 0);
  Progress::Totals totals;
  totals.updates = 10;
  totals.seconds = 5;
  totals.front_end.episodes = 50;
  totals.front_end.steps = 1000;
  totals.front_end.actors.alive = 2;
  totals.front_end.actors.gone = 1;
  totals.ledger = {60, 40, 5, 3, 12};
  totals.stages[Stage::kUpdate].busy = 4.5;
  totals.stages[Stage::kReceive].busy = 0.5;
  progress.AddBatch(Numbers(1.5, 0.75, 1, 2, 3));
  progress.AddBatch(Numbers(0.5, 0.875, 0, 1, 2));
  // 50 episodes and 1000 steps in 5 s; mean (1.5 + 0.5) / 2, lag (2 + 1) / 2; 90 of 100 updates left at 0.5 s each.
  EXPECT_EQ(
      progress.Line(totals),
      "update 10/100 | 10.0 episodes/s 200 steps/s | makespan / one device: mean 1.000 best 0.750 | lag 0/1.5/3 | "
      "limited by update (busy: receive 10%, check 0%, batch 0%, update 90%, publish 0%) | actors 2 (1 gone) | "
      "60 episodes: 40 trained 5 stale 3 rejected | 0:00:45 left");

  totals.updates = 11;
  totals.seconds = 7;
  totals.front_end.episodes = 54;
  progress.AddBatch(Numbers(0.25, 0.9, 4, 4, 4));
  const std::string line = progress.Line(totals);
  EXPECT_THAT(line, HasSubstr("2.0 episodes/s 0 steps/s"));
  EXPECT_THAT(line, HasSubstr("mean 0.250 best 0.750 | lag 4/4.0/4"));  // The best is that of the whole sitting.

  totals.seconds = 8;
  EXPECT_THAT(progress.Line(totals), HasSubstr("no update since the last line"));
}

TEST(Progress, ALineTellsTheShareOfTheTimeThatTheWindowsOfAnActorAreOpen) {
  Progress progress(Config(), 0, 0);
  Progress::Totals totals;
  totals.seconds = 5;
  EXPECT_THAT(progress.Line(totals), testing::Not(HasSubstr("measure")));
  totals.seconds = 15;
  totals.front_end.actors.measuring = 2;
  totals.front_end.actors.measuring_s = 8 + 4;
  totals.front_end.actors.window_s = 6 + 3;
  EXPECT_THAT(progress.Line(totals), HasSubstr(" | 2 measure, windows open 75% | "));
}

// A line's "limited by X (busy: ...)", where each stage was busy for such a share of the time since the line before.
class ProgressLimitTest : public testing::Test {
 protected:
  ProgressLimitTest() { totals_.front_end.actors.alive = 2; }

  std::string Limit(const std::vector<std::pair<Stage, double>>& shares, int64_t under_way) {
    totals_.seconds += 10;
    for (const auto& [stage, share] : shares) totals_.stages[stage].busy += 10 * share;
    totals_.front_end.actors.under_way = under_way;
    const std::string line = progress_.Line(totals_);
    const size_t at = line.find("limited by ") + 11;
    return line.substr(at, line.find(" |", at) - at);
  }

  Progress progress_{Config(), 0, 0};
  Progress::Totals totals_;
};

TEST_F(ProgressLimitTest, IsTheStageThatIsNeverIdle) {
  EXPECT_EQ(Limit({{Stage::kUpdate, 0.97}, {Stage::kReceive, 0.5}, {Stage::kPublish, 0.04}}, 0),
            "update (busy: receive 50%, check 0%, batch 0%, update 97%, publish 4%)");
  EXPECT_EQ(Limit({{Stage::kReceive, 0.9}, {Stage::kUpdate, 0.85}}, 0),
            "receive (busy: receive 90%, check 0%, batch 0%, update 85%, publish 0%)");
  EXPECT_EQ(Limit({{Stage::kBatch, 1}}, 0), "batch (busy: receive 0%, check 0%, batch 100%, update 0%, publish 0%)");
  EXPECT_EQ(Limit({{Stage::kPublish, 0.99}, {Stage::kUpdate, 0.3}}, 0),
            "publish (busy: receive 0%, check 0%, batch 0%, update 30%, publish 99%)");
  EXPECT_THAT(Limit({{Stage::kUpdate, 0.9}}, 16), testing::StartsWith("update "));  // Everything piles up before it.
}

TEST_F(ProgressLimitTest, IsOutsideWhenAllStagesWait) {
  EXPECT_THAT(Limit({{Stage::kUpdate, 0.6}}, 1), testing::StartsWith("actors "));
  EXPECT_THAT(Limit({{Stage::kUpdate, 0.6}}, 9),
              testing::StartsWith("network "));  // More than half of what two actors hold.
  EXPECT_THAT(Limit({{Stage::kUpdate, 0.6}}, 8), testing::StartsWith("actors "));
  EXPECT_THAT(Limit({{Stage::kEvaluate, 1}}, 0), testing::StartsWith("actors "));  // Nothing waits for an evaluation.
}

// Many actors have fewer episodes under way than their queues could hold.
TEST_F(ProgressLimitTest, IsTheNetworkWhereWhatActorsMayHaveUnderWayHasNotArrived) {
  totals_.front_end.actors.alive = 16;
  const auto all = static_cast<int64_t>(16 * RunAheadOfEach(Config(), 16).most);
  ASSERT_LT(all, 16 * Config().actor.send_queue);
  EXPECT_THAT(Limit({{Stage::kUpdate, 0.6}}, all / 2 + 1), testing::StartsWith("network "));
  EXPECT_THAT(Limit({{Stage::kUpdate, 0.6}}, all / 2), testing::StartsWith("actors "));
}

TEST(Progress, TimeLeftIsBoundByUpdatesAndByTheClock) {
  RunConfig config = Config();
  config.training.max_minutes = 10;
  Progress progress(config, 40, 60);  // Resumed after 40 updates and one minute.
  Progress::Totals totals;
  totals.updates = 40;
  totals.seconds = 70;
  EXPECT_THAT(progress.Line(totals), HasSubstr("0:08:50 left"));  // 600 s - 70 s: no rate is known yet.
  totals.updates = 50;
  totals.seconds = 80;  // 2 s an update, 50 to go.
  EXPECT_THAT(progress.Line(totals), HasSubstr("0:01:40 left"));
  totals.seconds = 660;
  EXPECT_THAT(progress.Line(totals), HasSubstr("0:00:00 left"));

  Progress endless(Config(), 0, 0);
  EXPECT_THAT(endless.Line({}), HasSubstr("? left"));
}

TEST(Progress, GraphsWithoutComparisonLeaveNoNumber) {
  Progress progress(Config(), 0, 0);
  progress.AddBatch(Numbers(std::nan(""), std::nan(""), 0, 0, 0));
  EXPECT_THAT(progress.Line({}), HasSubstr("mean nan best nan"));
  progress.AddBatch(Numbers(std::nan(""), std::nan(""), 0, 0, 0));
  progress.AddBatch(Numbers(0.5, 0.5, 0, 0, 0));
  EXPECT_THAT(progress.Line({}), HasSubstr("mean 0.500 best 0.500"));
}

}  // namespace
}  // namespace emplace
