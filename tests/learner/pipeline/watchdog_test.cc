#include "learner/pipeline/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "common/strings.h"
#include "common/threads/host_name.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(Watchdog, NamesTheStageThatHangsTheProcessTheHostAndWhatWasLast) {
  StageClocks clocks;
  StageClock main;
  std::promise<std::string> alarm;
  std::future<std::string> reason = alarm.get_future();
  clocks[Stage::kUpdate].Busy();  // And never again.
  const Watchdog watchdog(
      clocks, main, 0.2, [] { return "update 17"; }, [&](const std::string& text) { alarm.set_value(text); });
  EXPECT_THAT(reason.get(), AllOf(HasSubstr("'update'"), HasSubstr(StrCat("process ", ::getpid())),
                                  HasSubstr(HostName()), HasSubstr("watchdog_s"), HasSubstr("update 17")));
}

TEST(Watchdog, OneOfSeveralThreadsThatHangsIsFound) {
  StageClocks clocks;
  StageClock main;
  clocks[Stage::kCheck].SetThreads(3);
  const StageWork hangs(clocks[Stage::kCheck]);
  std::promise<std::string> alarm;
  const Watchdog watchdog(
      clocks, main, 0.1, [] { return ""; }, [&](const std::string& text) { alarm.set_value(text); });
  EXPECT_THAT(alarm.get_future().get(), HasSubstr("'check'"));
}

TEST(Watchdog, TheMainThreadIsWatchedToo) {
  StageClocks clocks;
  StageClock main;
  const StageWork hangs(main);
  std::promise<std::string> alarm;
  const Watchdog watchdog(
      clocks, main, 0.1, [] { return ""; }, [&](const std::string& text) { alarm.set_value(text); });
  EXPECT_THAT(alarm.get_future().get(), HasSubstr("the main thread"));
}

TEST(Watchdog, WhoWaitsOrGetsOnIsLeftAlone) {
  StageClocks clocks;
  StageClock main;
  std::atomic<bool> barked = false;
  const Watchdog watchdog(
      clocks, main, 3600, [] { return ""; }, [&](const std::string&) { barked = true; });
  const Watchdog asleep(
      clocks, main, 0, [] { return ""; }, [&](const std::string&) { barked = true; });
  clocks[Stage::kUpdate].Busy();
  clocks[Stage::kReceive].Busy();
  clocks[Stage::kReceive].Waiting();
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(barked);
}

}  // namespace
}  // namespace emplace
