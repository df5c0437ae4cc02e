// With programs in the place of `emplace-hardware measure`.
#include "actor/hardware/measuring/measuring_process.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actor/reward_source.h"
#include "common/error.h"

namespace emplace {
namespace {

// Answers the first request, then does what `then` says with the second.
std::vector<std::string> ProgramThat(const std::string& then) {
  return {"/usr/bin/python3", "-c", R"(
import os, struct, time
def read(count):
    data = b""
    while len(data) < count:
        data += os.read(0, count - len(data)) or os._exit(0)
    return data
def hear(): return read(struct.unpack("Q", read(8))[0])
def say(text): os.write(0, struct.pack("Q", len(text)) + text)
hear()
say(b"{}")
hear()
)" + then};
}

constexpr char kAnswer[] = R"(
series = b'{"us": [1], "preemptions": [0], "op_us": [], "copies": [], "replayed_us": 0}'
say(b'{"reference": ' + series + b', "placement": ' + series + b'}')
)";

MeasuringProcess Start(const std::string& then, double step_limit_s, std::function<bool()> is_over = nullptr) {
  return {
      {}, Cluster(), {}, {.command = ProgramThat(then), .step_limit_s = step_limit_s, .is_over = std::move(is_over)}};
}

std::string WhyItFails(const std::string& then, double step_limit_s) {
  MeasuringProcess process = Start(then, step_limit_s);
  try {
    process.Time({});
  } catch (const StepFailed& failure) {
    EXPECT_EQ(process.pid(), -1);
    return failure.what();
  }
  return "";
}

TEST(MeasuringProcess, TheLimitIsOneForEachStep) {
  MeasuringProcess process =
      Start("for _ in range(20):\n    time.sleep(0.2)\n    os.write(1, b'.')\n" + std::string(kAnswer), 3);
  EXPECT_EQ(process.Time({}).placement.us, std::vector<double>{1});
}

TEST(MeasuringProcess, AStepThatHangsFails) {
  EXPECT_EQ(WhyItFails("os.write(1, b'.')\ntime.sleep(600)", 0.1), "it has not ended within its limit of 0.1 s");
}

TEST(MeasuringProcess, AProcessThatEndsFails) {
  EXPECT_EQ(WhyItFails("os._exit(3)", 60), "its process ended with exit code 3");
}

TEST(MeasuringProcess, AProcessThatFailsAtOnceEndsTheRun) {
  try {
    MeasuringProcess({}, Cluster(), {}, {.command = {"/bin/false"}, .is_over = nullptr});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
    EXPECT_STREQ(error.what(), "the measuring process: its process ended with exit code 1");
  }
}

TEST(MeasuringProcess, WhatIsOverIsNotWaitedFor) {
  std::atomic<bool> over = false;
  MeasuringProcess process = Start("time.sleep(600)", 600, [&] { return over.load(); });
  over = true;
  EXPECT_THROW(process.Time({}), MeasurementCancelled);
}

// Ctrl-C reaches all processes of a terminal's group.
TEST(MeasuringProcess, SignalsThatAreForTheActorDoNotEndIt) {
  MeasuringProcess process = Start(
      "import signal\nfor s in (signal.SIGINT, signal.SIGTERM): os.kill(os.getpid(), s)\n" + std::string(kAnswer), 60);
  EXPECT_EQ(process.Time({}).reference.us, std::vector<double>{1});
}

}  // namespace
}  // namespace emplace
