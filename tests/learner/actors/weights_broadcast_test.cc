#include "learner/actors/weights_broadcast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tests/learner/pipeline/front_end_fixture.h"

namespace emplace {
namespace {

class WeightsBroadcastTest : public FrontEndFixture {};

TEST_F(WeightsBroadcastTest, NewWeightsAreAnnouncedAndServed) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  EXPECT_EQ(actor.Beat().version, 5U);
  front_end->Publish(std::make_shared<const PolicyWeights>(SmallPolicy(2, 6)));
  std::optional<Notice> notice;  // Unasked.
  for (int i = 0; i < kTries && !notice; ++i) notice = actor.ReceiveIf<Notice>();
  ASSERT_TRUE(notice.has_value());
  EXPECT_EQ(notice->session, front_end->session());
  EXPECT_EQ(notice->version, 6U);
  EXPECT_EQ(actor.Beat().version, 6U);
  EXPECT_EQ(actor.Ask<WeightsReply>(WeightsRequest{actor.key()}).version, 6U);
}

TEST_F(WeightsBroadcastTest, ALimitGrowsAsEpisodesCome) {
  config_.training.episodes_per_update = 16;
  config_.training.max_lag = 2;  // So 16 episodes may be under way in all.
  const auto front_end = Start();
  HandPlayedActor first(front_end->address(), "a", 1);
  HandPlayedActor second(front_end->address(), "b", 2);
  first.Join();
  EXPECT_EQ(first.Beat().sequence_limit, 16U);
  second.Join();
  EXPECT_EQ(first.Beat().sequence_limit, 8U);
  EXPECT_EQ(second.Beat().sequence_limit, 8U);
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(first.Produce(episode(i)));
  uint64_t limit = 0;  // By notices that nobody has asked for.
  for (int i = 0; i < kTries && limit < 12; ++i) {
    if (const std::optional<Notice> notice = first.ReceiveIf<Notice>()) limit = notice->sequence_limit;
  }
  EXPECT_EQ(limit, 12U);
  EXPECT_EQ(second.Beat().sequence_limit, 8U);  // The other one has sent nothing.
}

TEST_F(WeightsBroadcastTest, ThereIsNoLimitInLockstep) {
  config_.training.sync = Sync::kLockstep;
  EpisodeDealer dealer(5, config_.training.episodes_per_update);
  const auto front_end = Start({.dealer = &dealer});
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  EXPECT_EQ(actor.Beat().sequence_limit, 0U);
}

}  // namespace
}  // namespace emplace
