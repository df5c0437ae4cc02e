#include "common/wire/messages/trajectory_codec.h"

#include <gtest/gtest.h>

#include "tests/common/wire/messages/random_messages.h"

namespace emplace {
namespace {

void ExpectEqual(const Trajectory& a, const Trajectory& b) {
  EXPECT_EQ(a.graph, b.graph);
  EXPECT_EQ(a.actor, b.actor);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.policy_version, b.policy_version);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.claim, b.claim);
  EXPECT_EQ(a.start_placement, b.start_placement);
  EXPECT_EQ(a.actions, b.actions);
  EXPECT_EQ(a.behaviour_log_prob, b.behaviour_log_prob);
  EXPECT_EQ(a.rho, b.rho);
}

TEST(TrajectoryCodec, TrajectoriesRoundTrip) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const Trajectory sent = RandomTrajectory(rng, static_cast<size_t>(rng.UniformInt(0, 300)));
    const std::optional<Trajectory> got = DecodeTrajectory(Views(Encode(sent)));
    ASSERT_TRUE(got.has_value());
    ExpectEqual(sent, *got);
  }
}

TEST(TrajectoryCodec, ATrajectoryIsCompact) {
  Rng rng(2);
  size_t bytes = 0;
  for (const Frame& frame : Encode(RandomTrajectory(rng, 128))) bytes += frame.size();
  // 128 devices twice, 128 log-probabilities, 129 values of rho; the header is 10 words of 8
  // bytes: segment table, root pointer, Message (2), Trajectory (5), ActorKey.
  EXPECT_EQ(bytes - 80, 128U + 128U + 4 * 128U + 4 * 129U);
}

}  // namespace
}  // namespace emplace
