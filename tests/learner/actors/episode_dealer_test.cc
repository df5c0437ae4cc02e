#include "learner/actors/episode_dealer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/rng.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

const EpisodeDealer::Time kFirstDeal{};
constexpr ActorKey kFirstActor{0, 1};
constexpr ActorKey kSecondActor{1, 1};

Trajectory Of(PolicyVersion version, uint32_t index) {
  Trajectory trajectory;
  trajectory.policy_version = version;
  trajectory.index = index;
  return trajectory;
}

TEST(EpisodeDealer, EachActorGetsItsShareAndNobodyGetsOneTwice) {
  EpisodeDealer dealer(5, 7);
  EXPECT_THAT(dealer.Deal(kFirstActor, 5, 2, kFirstDeal), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(dealer.Deal(kSecondActor, 5, 2, kFirstDeal), ElementsAre(4, 5, 6));
  EXPECT_THAT(dealer.Deal(kSecondActor, 5, 2, kFirstDeal), IsEmpty());
  EXPECT_THAT(dealer.Deal(kFirstActor, 4, 2, kFirstDeal), IsEmpty());
  EXPECT_THAT(dealer.Deal(kFirstActor, 6, 2, kFirstDeal), IsEmpty());
}

TEST(EpisodeDealer, WhatAGoneActorOwesIsDealtAgain) {
  EpisodeDealer dealer(0, 4);
  EXPECT_THAT(dealer.Deal(kFirstActor, 0, 1, kFirstDeal), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(dealer.Accept(Of(0, 2), kFirstDeal));
  dealer.TakeBack(kFirstActor);
  EXPECT_THAT(dealer.Deal(kSecondActor, 0, 1, kFirstDeal), ElementsAre(0, 1, 3));
}

TEST(EpisodeDealer, WhatIsOverdueIsDealtToWhoAsks) {
  EpisodeDealer dealer(0, 2);
  EXPECT_THAT(dealer.Deal(kFirstActor, 0, 1, kFirstDeal), ElementsAre(0, 1));
  EXPECT_THAT(dealer.Deal(kSecondActor, 0, 1, kFirstDeal + milliseconds(100)), IsEmpty());
  EXPECT_THAT(dealer.Deal(kSecondActor, 0, 1, kFirstDeal + std::chrono::minutes(1)), ElementsAre(0, 1));
  EXPECT_TRUE(dealer.Accept(Of(0, 0), kFirstDeal + std::chrono::minutes(1)));
  EXPECT_TRUE(dealer.Accept(Of(0, 1), kFirstDeal + std::chrono::minutes(1) + milliseconds(100)));
  // The version before took a minute: now longer is waited for.
  const auto later = kFirstDeal + std::chrono::hours(1);
  EXPECT_THAT(dealer.Deal(kFirstActor, 1, 1, later), ElementsAre(0, 1));
  EXPECT_THAT(dealer.Deal(kSecondActor, 1, 1, later + std::chrono::minutes(2)), IsEmpty());
  EXPECT_THAT(dealer.Deal(kSecondActor, 1, 1, later + std::chrono::minutes(5)), ElementsAre(0, 1));
}

TEST(EpisodeDealer, EachEpisodeIsAcceptedOnce) {
  EpisodeDealer dealer(3, 2);
  EXPECT_FALSE(dealer.Accept(Of(2, 0), kFirstDeal));
  EXPECT_FALSE(dealer.Accept(Of(4, 0), kFirstDeal));
  EXPECT_FALSE(dealer.Accept(Of(3, 2), kFirstDeal));
  EXPECT_TRUE(dealer.Accept(Of(3, 1), kFirstDeal));
  EXPECT_FALSE(dealer.Accept(Of(3, 1), kFirstDeal));
  EXPECT_TRUE(dealer.Accept(Of(3, 0), kFirstDeal));
  EXPECT_FALSE(dealer.Accept(Of(3, 0), kFirstDeal));
  EXPECT_TRUE(dealer.Accept(Of(4, 0), kFirstDeal));
}

// Actors that come, die, dawdle and lose episodes at random: every version is complete in the end, each episode once.
TEST(EpisodeDealer, EveryVersionIsCompletedWhateverActorsDo) {
  Rng rng(1);
  constexpr int64_t kEpisodes = 9;
  EpisodeDealer dealer(0, kEpisodes);
  EpisodeDealer::Time now = kFirstDeal;
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
