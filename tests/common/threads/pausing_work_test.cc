#include "common/threads/pausing_work.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "tests/support/own_machine_lock.h"

namespace emplace {
namespace {

class PausingWorkTest : public testing::Test {
 protected:
  const OwnMachineLock lock_;
  std::atomic<bool> measuring_ = true;
  PausingWork work_{measuring_};
};

TEST_F(PausingWorkTest, AUnitHoldsWindowsOffUntilItEnds) {
  for (int i = 0; i < 2; ++i) {
    {
      const PausingWork::Unit unit(work_);
      EXPECT_TRUE(lock_.WorkIsUnderWay());
    }
    EXPECT_FALSE(lock_.WorkIsUnderWay());
  }
}

TEST_F(PausingWorkTest, WhileNobodyMeasuresAUnitHoldsNothing) {
  measuring_ = false;
  {
    const PausingWork::Unit unit(work_);
    EXPECT_FALSE(lock_.WorkIsUnderWay());
    // Somebody begins to measure in the middle of it, and stops.
    measuring_ = true;
    work_.Interrupt();
    work_.GoOn();
    EXPECT_TRUE(lock_.WorkIsUnderWay());
    measuring_ = false;
  }
  EXPECT_FALSE(lock_.WorkIsUnderWay());
}

TEST_F(PausingWorkTest, AnInterruptedUnitLetsWindowsOpen) {
  std::optional<PausingWork::Unit> unit(work_);
  work_.Interrupt();
  EXPECT_FALSE(lock_.WorkIsUnderWay());
  work_.GoOn();
  EXPECT_TRUE(lock_.WorkIsUnderWay());
  work_.Interrupt();
  unit.reset();  // As where the wait throws.
  EXPECT_FALSE(lock_.WorkIsUnderWay());
}

TEST_F(PausingWorkTest, GoesOnWhenTheWindowHasClosed) {
  const PausingWork::Unit unit(work_);
  work_.Interrupt();
  MachineLock window;
  ASSERT_TRUE(window.OpenWindow(std::chrono::milliseconds(0)));
  std::atomic<bool> closed = false;
  std::thread measuring([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    closed = true;
    window.CloseWindow();
  });
  work_.GoOn();
  EXPECT_TRUE(closed);
  measuring.join();
}

TEST_F(PausingWorkTest, WithoutAUnitThereIsNothingToGoOnWith) {
  work_.Interrupt();
  work_.GoOn();
  EXPECT_FALSE(lock_.WorkIsUnderWay());
}

}  // namespace
}  // namespace emplace
