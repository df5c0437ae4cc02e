#include "learner/intake/episode_dealer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/rng.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

const EpisodeDealer::Time kStart{};
constexpr ActorKey kA{0, 1};
constexpr ActorKey kB{1, 1};

Trajectory Of(PolicyVersion version, uint32_t index) {
  Trajectory trajectory;
  trajectory.policy_version = version;
  trajectory.index = index;
  return trajectory;
}

TEST(EpisodeDealer, EachActorGetsItsShareAndNobodyGetsOneTwice) {
  EpisodeDealer dealer(5, 7);
  EXPECT_THAT(dealer.Deal(kA, 5, 2, kStart), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(dealer.Deal(kB, 5, 2, kStart), ElementsAre(4, 5, 6));
  EXPECT_THAT(dealer.Deal(kB, 5, 2, kStart), IsEmpty());
  EXPECT_THAT(dealer.Deal(kA, 4, 2, kStart), IsEmpty());
  EXPECT_THAT(dealer.Deal(kA, 6, 2, kStart), IsEmpty());
}

TEST(EpisodeDealer, WhatAGoneActorOwesIsDealtAgain) {
  EpisodeDealer dealer(0, 4);
  EXPECT_THAT(dealer.Deal(kA, 0, 1, kStart), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(dealer.Accept(Of(0, 2), kStart));
  dealer.TakeBack(kA);
  EXPECT_THAT(dealer.Deal(kB, 0, 1, kStart), ElementsAre(0, 1, 3));
}

TEST(EpisodeDealer, WhatIsOverdueIsDealtToWhoAsks) {
  EpisodeDealer dealer(0, 2);
  EXPECT_THAT(dealer.Deal(kA, 0, 1, kStart), ElementsAre(0, 1));
  EXPECT_THAT(dealer.Deal(kB, 0, 1, kStart + milliseconds(100)), IsEmpty());
  EXPECT_THAT(dealer.Deal(kB, 0, 1, kStart + std::chrono::minutes(1)), ElementsAre(0, 1));
  EXPECT_TRUE(dealer.Accept(Of(0, 0), kStart + std::chrono::minutes(1)));
  EXPECT_TRUE(dealer.Accept(Of(0, 1), kStart + std::chrono::minutes(1) + milliseconds(100)));
  // The version before took a minute: now longer is waited for.
  const auto later = kStart + std::chrono::hours(1);
  EXPECT_THAT(dealer.Deal(kA, 1, 1, later), ElementsAre(0, 1));
  EXPECT_THAT(dealer.Deal(kB, 1, 1, later + std::chrono::minutes(2)), IsEmpty());
  EXPECT_THAT(dealer.Deal(kB, 1, 1, later + std::chrono::minutes(5)), ElementsAre(0, 1));
}

TEST(EpisodeDealer, EachEpisodeIsAcceptedOnce) {
  EpisodeDealer dealer(3, 2);
  EXPECT_FALSE(dealer.Accept(Of(2, 0), kStart));
  EXPECT_FALSE(dealer.Accept(Of(4, 0), kStart));
  EXPECT_FALSE(dealer.Accept(Of(3, 2), kStart));
  EXPECT_TRUE(dealer.Accept(Of(3, 1), kStart));
  EXPECT_FALSE(dealer.Accept(Of(3, 1), kStart));
  EXPECT_TRUE(dealer.Accept(Of(3, 0), kStart));
  EXPECT_FALSE(dealer.Accept(Of(3, 0), kStart));
  EXPECT_TRUE(dealer.Accept(Of(4, 0), kStart));
}

// Actors that come, die, dawdle and lose episodes at random: every version is complete in the end, each episode once.
TEST(EpisodeDealer, EveryVersionIsCompletedWhateverActorsDo) {
  Rng rng(1);
  constexpr int64_t kEpisodes = 9;
  EpisodeDealer dealer(0, kEpisodes);
  EpisodeDealer::Time now = kStart;
  for (PolicyVersion version = 0; version < 50; ++version) {
    std::set<uint32_t> here;
    for (int turn = 0; std::ssize(here) < kEpisodes; ++turn) {
      ASSERT_LT(turn, 10'000) << "version " << version << " is never complete";
      now += milliseconds(rng.UniformInt(1, 400));
      const ActorKey actor{static_cast<uint32_t>(rng.UniformInt(0, 3)), 1};
      for (const uint32_t index : dealer.Deal(actor, version, rng.UniformInt(0, 4), now)) {
        ASSERT_LT(index, kEpisodes);
        if (rng.UniformInt(0, 2) == 0) continue;  // Lost.
        EXPECT_EQ(dealer.Accept(Of(version, index), now), here.insert(index).second);
      }
      if (rng.UniformInt(0, 9) == 0) dealer.TakeBack({static_cast<uint32_t>(rng.UniformInt(0, 3)), 1});
    }
  }
}

}  // namespace
}  // namespace emplace
