#include "learner/stage_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace emplace {
namespace {

using std::chrono::seconds;

StageClock::Time fake_now;
StageClock::Time FakeNow() { return fake_now; }

TEST(StageClock, AllTimeIsSpentBusyOrWaiting) {
  fake_now = StageClock::Time(seconds(1000));
  StageClock clock(&FakeNow);
  const auto expect = [&](double busy, double waiting) {
    EXPECT_DOUBLE_EQ(clock.seconds().busy, busy);
    EXPECT_DOUBLE_EQ(clock.seconds().waiting, waiting);
  };
  expect(0, 0);
  fake_now += seconds(3);
  expect(0, 3);  // Waits at first, and what goes on counts.
  clock.Busy();
  fake_now += seconds(5);
  expect(5, 3);
  clock.Busy();  // Still.
  fake_now += seconds(2);
  clock.Waiting();
  expect(7, 3);
  fake_now += seconds(1);
  clock.Waiting();
  fake_now += seconds(4);
  expect(7, 8);
}

TEST(StageClock, AStageOfSeveralThreadsIsBusyWhileAllWork) {
  fake_now = StageClock::Time(seconds(1000));
  StageClock clock(&FakeNow);
  clock.SetThreads(2);
  clock.Begin();
  fake_now += seconds(2);
  clock.Begin();
  fake_now += seconds(5);
  clock.End();
  fake_now += seconds(1);
  EXPECT_DOUBLE_EQ(clock.seconds().busy, 5);
  EXPECT_DOUBLE_EQ(clock.seconds().waiting, 3);
}

TEST(StageClock, SilenceCountsWhileWorkIsUnderWayAndSinceTheLastSignOfIt) {
  fake_now = StageClock::Time(seconds(1000));
  StageClock clock(&FakeNow);
  fake_now += seconds(100);
  EXPECT_EQ(clock.silent_s(), std::nullopt);
  clock.Busy();
  fake_now += seconds(7);
  EXPECT_EQ(clock.silent_s(), 7);
  clock.Busy();
  EXPECT_EQ(clock.silent_s(), 0);
  fake_now += seconds(3);
  EXPECT_EQ(clock.silent_s(), 3);
  clock.Waiting();
  EXPECT_EQ(clock.silent_s(), std::nullopt);
}

TEST(StageClock, MayBeReadWhileTheStageWorks) {
  StageClocks clocks;
  std::jthread stage([&] {
    for (int i = 0; i < 10'000; ++i) {
      clocks[Stage::kUpdate].Busy();
      clocks[Stage::kUpdate].Waiting();
    }
  });
  StageTimes last = clocks.Read();
  for (int i = 0; i < 1000; ++i) {
    const StageTimes now = clocks.Read();
    const StageSeconds since = (now - last)[Stage::kUpdate];
    EXPECT_GE(since.busy, 0);
    EXPECT_GE(since.waiting, 0);
    EXPECT_EQ(now[Stage::kBatch].busy, 0);  // Each stage has its own.
    last = now;
  }
}

TEST(StageTimes, SubtractsStageByStage) {
  StageTimes earlier;
  StageTimes later;
  for (size_t i = 0; i < metrics::kStages.size(); ++i) {
    earlier[static_cast<Stage>(i)] = {.busy = static_cast<double>(i), .waiting = 1};
    later[static_cast<Stage>(i)] = {.busy = static_cast<double>(3 * i), .waiting = 1.5};
  }
  const StageTimes since = later - earlier;
  for (size_t i = 0; i < metrics::kStages.size(); ++i) {
    EXPECT_EQ(since[static_cast<Stage>(i)].busy, static_cast<double>(2 * i));
    EXPECT_EQ(since[static_cast<Stage>(i)].waiting, 0.5);
  }
}

}  // namespace
}  // namespace emplace
