#include "learner/intake/checked_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "learner/intake/best_placements.h"
#include "learner/intake/placement_episodes.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong(10'000);

class CheckedQueueTest : public testing::Test {
 protected:
  CheckedQueueTest() : tasks_(TwoDeviceTasks(1, 3)), actor_(ledger_.Join("a", 1, 1)) {}

  // `count` episodes, admitted, every third with a last rho that is not its own.
  std::vector<Trajectory> Admitted(int count) {
    std::vector<Trajectory> episodes = Episodes(tasks_, {}, SmallPolicy(1, 5), count, Rng(2));
    for (size_t i = 0; i < episodes.size(); ++i) {
      episodes[i].actor = actor_;
      episodes[i].sequence = i + 1;
      if (IsWrong(episodes[i])) episodes[i].rho.back() += 1;
      EXPECT_EQ(ledger_.Admit(actor_, i + 1), Ledger::Admission::kNew);
    }
    return episodes;
  }
  static bool IsWrong(const Trajectory& episode) { return episode.sequence % 3 == 0; }

  const std::vector<PlacementTask> tasks_;
  Ledger ledger_;
  const RunClock run_clock_{0};
  BestPlacements placements_{tasks_, PlacetoKind(), {}, run_clock_};
  const RunConfig config_;
  const PlacementEpisodes rules_{tasks_, config_, placements_};
  StageClock clock_;
  const ActorKey actor_;
};

TEST_F(CheckedQueueTest, KeepsTheOrderAndRejectsWhatIsNotSo) {
  constexpr int kCount = 300;
  std::vector<Trajectory> episodes = Admitted(kCount);
  uint64_t rejected = 0;
  for (const size_t threads : {size_t{1}, size_t{4}}) {
    CheckedQueue queue(rules_, {.capacity = 8, .threads = threads}, ledger_, clock_);
    std::thread pusher([&] {
      for (Trajectory episode : episodes) {
        EXPECT_TRUE(queue.HasRoom(kLong));
        EXPECT_TRUE(queue.Push(std::move(episode)));
      }
    });
    int64_t steps = 0;
    for (const Trajectory& episode : episodes) {
      if (IsWrong(episode)) continue;
      const std::optional<Episode> popped = queue.Pop(kLong);
      ASSERT_TRUE(popped.has_value());
      EXPECT_EQ(popped->trajectory.sequence, episode.sequence);
      EXPECT_EQ(popped->trajectory.actions, episode.actions);
      steps += std::ssize(episode.actions);
    }
    pusher.join();
    queue.Close();
    EXPECT_EQ(queue.counts().episodes, kCount - kCount / 3);
    EXPECT_EQ(queue.counts().steps, steps);
    rejected += uint64_t{kCount / 3};
    EXPECT_EQ(ledger_.Total().rejected, rejected);
  }
}

// The best known is infinitely slow at first, so every claim on the way is looked at.
TEST_F(CheckedQueueTest, AFalseClaimOnTheWayIsRejectedLikeOneOfTheEnd) {
  CheckedQueue queue(rules_, {.capacity = 8, .threads = 1}, ledger_, clock_);
  std::vector<Trajectory> episodes = Admitted(2);
  episodes[0].rho.front() = -100;
  for (Trajectory& episode : episodes) EXPECT_TRUE(queue.Push(std::move(episode)));
  const std::optional<Episode> popped = queue.Pop(kLong);
  ASSERT_TRUE(popped.has_value());
  EXPECT_EQ(popped->trajectory.sequence, 2U);
  EXPECT_EQ(ledger_.Total().rejected, 1U);
  EXPECT_EQ(queue.counts().episodes, 1);
}

TEST_F(CheckedQueueTest, HasRoomForItsCapacityWhateverIsCheckedOrNot) {
  CheckedQueue queue(rules_, {.capacity = 3, .threads = 1}, ledger_, clock_);
  std::vector<Trajectory> episodes = Admitted(8);
  const auto push = [&](size_t i) { EXPECT_TRUE(queue.Push(std::move(episodes[i]))); };
  push(0);
  push(1);
  push(3);
  EXPECT_FALSE(queue.HasRoom());
  ASSERT_TRUE(queue.Pop(kLong).has_value());
  EXPECT_TRUE(queue.HasRoom());
  push(2);  // Wrong: it leaves by itself.
  EXPECT_TRUE(queue.HasRoom(kLong));
  push(4);
  EXPECT_FALSE(queue.HasRoom());
  EXPECT_FALSE(queue.HasRoom(milliseconds(1)));
  Trajectory refused = episodes[6];
  EXPECT_FALSE(queue.Push(std::move(refused)));
  EXPECT_EQ(refused.actions, episodes[6].actions);
  queue.Close();
  EXPECT_GT(clock_.seconds().busy, 0);
}

TEST_F(CheckedQueueTest, WhatIsInsideWhenItClosesCanStillBePopped) {
  CheckedQueue queue(rules_, {.capacity = 8, .threads = 2}, ledger_, clock_);
  std::vector<Trajectory> episodes = Admitted(8);
  for (size_t i = 0; i < 7; ++i) EXPECT_TRUE(queue.Push(std::move(episodes[i])));
  queue.Close();
  queue.Close();
  EXPECT_FALSE(queue.Push(std::move(episodes[7])));
  EXPECT_FALSE(episodes[7].actions.empty());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.Pop(milliseconds(0)).has_value());
  EXPECT_FALSE(queue.Pop(milliseconds(0)).has_value());
}

}  // namespace
}  // namespace emplace
