#include "learner/ranks/pausing_collective.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "common/error.h"
#include "tests/support/own_machine_lock.h"

namespace emplace {
namespace {

// Waits for other ranks, and sees whether it holds windows off.
class WaitingCollective final : public Collective {
 public:
  explicit WaitingCollective(const OwnMachineLock& lock) : lock_(lock) {}

  int64_t rank() const override { return 3; }
  int64_t ranks() const override { return 5; }
  void GatherShards(ShardSums& /*sums*/) override {
    held_off = held_off || lock_.WorkIsUnderWay();
    ++gathered;
  }
  void Broadcast(std::span<float> values) override {
    held_off = held_off || lock_.WorkIsUnderWay();
    if (values.empty()) throw RunFailed("a rank is gone");
    values[0] = 7;
  }

  int gathered = 0;
  bool held_off = false;

 private:
  const OwnMachineLock& lock_;
};

class PausingCollectiveTest : public testing::Test {
 protected:
  const OwnMachineLock lock_;
  std::atomic<bool> measuring_ = true;
  PausingWork work_{measuring_};
  WaitingCollective waiting_{lock_};
  PausingCollective pausing_{waiting_, work_};
};

TEST_F(PausingCollectiveTest, NoRankHoldsWindowsOffWhileItWaitsForOthers) {
  const PausingWork::Unit unit(work_);
  ShardSums sums(5, 5, 1);
  pausing_.GatherShards(sums);
  EXPECT_TRUE(lock_.WorkIsUnderWay());
  std::vector<float> values(1);
  pausing_.Broadcast(values);
  EXPECT_TRUE(lock_.WorkIsUnderWay());
  EXPECT_FALSE(waiting_.held_off);
  // It is the other collective's exchange.
  EXPECT_EQ(waiting_.gathered, 1);
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(pausing_.rank(), 3);
  EXPECT_EQ(pausing_.ranks(), 5);
}

TEST_F(PausingCollectiveTest, AnExchangeThatFailsLeavesNothingHeld) {
  {
    const PausingWork::Unit unit(work_);
    EXPECT_THROW(pausing_.Broadcast({}), Error);
  }
  EXPECT_FALSE(lock_.WorkIsUnderWay());
}

}  // namespace
}  // namespace emplace
