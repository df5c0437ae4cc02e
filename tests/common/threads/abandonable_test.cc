#include "common/threads/abandonable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

namespace emplace {
namespace {

TEST(Abandonable, ReturnsAndThrowsWhatTheWorkDoes) {
  EXPECT_EQ(RunOrAbandon([] { return 3; }, {}), 3);
  EXPECT_THROW(RunOrAbandon([]() -> int { throw BadInput("no"); }, {}), Error);
}

TEST(Abandonable, DoesNotWaitForWorkOnceItIsStopped) {
  const auto release = std::make_shared<std::promise<void>>();
  const auto ended = std::make_shared<std::promise<void>>();
  const auto work = [release, ended] {
    release->get_future().wait();
    ended->set_value();
    return 0;
  };
  const std::atomic<bool> stop = true;
  EXPECT_THROW(RunOrAbandon(work, &stop), Stopped);  // Would wait forever: nothing has released it.
  release->set_value();
  ended->get_future().wait();
}

TEST(StopSignal, SaysSoAtItsTimeOrWhenItIsAsked) {
  const StopSignal::Clock::time_point now = StopSignal::Clock::now();
  EXPECT_FALSE(StopSignal().Now());
  EXPECT_FALSE(StopSignal().After(now, 1000).Now());
  EXPECT_FALSE(StopSignal().After(now, 0).Now());  // 0: any time.
  EXPECT_TRUE(StopSignal().At(now - std::chrono::seconds(1)).Now());
  EXPECT_FALSE(StopSignal().At(now - std::chrono::seconds(1)).Asked());
  std::atomic<bool> flag = false;
  const StopSignal stop = StopSignal(&flag).After(now, 1000);
  EXPECT_FALSE(stop.Now());
  flag = true;
  EXPECT_TRUE(stop.Now());
  EXPECT_THROW(stop.Poll(), Stopped);
}

}  // namespace
}  // namespace emplace
