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

}  // namespace
}  // namespace emplace
