#include "common/threads/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace emplace {
namespace {

void Interrupt() { ::kill(::getpid(), SIGINT); }

// Far longer than a command has to end well.
void GoOn() { std::this_thread::sleep_for(std::chrono::seconds(2)); }

[[noreturn]] void EndWell() {
  GoOn();
  std::_Exit(Interrupted() ? 0 : 3);
}

class InterruptDeathTest : public testing::Test {
 protected:
  // Each statement is run by a process of its own, which has no other thread.
  InterruptDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(InterruptDeathTest, EndsACommandThatDoesNotEnd) {
  EXPECT_EXIT(
      {
        CatchInterrupts("emplace");
        Interrupt();
        EndWell();
      },
      testing::ExitedWithCode(1), "^emplace: interrupted\n$");
}

TEST_F(InterruptDeathTest, ACommandThatHasItsResultWritesIt) {
  EXPECT_EXIT(
      {
        CatchInterrupts("emplace");
        Interrupt();
        FinishDespiteInterrupt();
        EndWell();
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_F(InterruptDeathTest, ASecondSignalEndsItNonetheless) {
  EXPECT_EXIT(
      {
        CatchInterrupts("emplace");
        FinishDespiteInterrupt();
        Interrupt();
        GoOn();
        Interrupt();
        GoOn();
        std::_Exit(0);
      },
      testing::ExitedWithCode(1), "^emplace: interrupted\n$");
}

TEST_F(InterruptDeathTest, AProgramThatNotesSignalsEndsInItsOwnTime) {
  EXPECT_EXIT(
      {
        NoteInterrupts();
        Interrupt();
        Interrupt();
        EndWell();
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_F(InterruptDeathTest, AProgramThatIgnoresSignalsGoesOn) {
  EXPECT_EXIT(
      {
        IgnoreInterrupts();
        Interrupt();
        EndWell();
      },
      testing::ExitedWithCode(3), "^$");
}

}  // namespace
}  // namespace emplace
