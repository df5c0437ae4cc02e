#include "learner/intake/trajectory_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <zmq.hpp>

#include "tests/learner/pipeline/front_end_fixture.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

class TrajectoryIntakeTest : public FrontEndFixture {};

TEST_F(TrajectoryIntakeTest, SoundEpisodesComeWithTheirMakespan) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  uint64_t steps = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(actor.Produce(episode(i)));
    steps += episode(i).actions.size();
    const std::optional<Episode> got = front_end->Pop(milliseconds(10'000));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->trajectory.sequence, i + 1);
    EXPECT_EQ(got->trajectory.actions, episode(i).actions);
    const PlacementTask& task = tasks_[got->trajectory.graph];
    if (task.single_device >= 0) {
      const double makespan_us =
          TrajectoryChecker(tasks_, PlacetoKind(), config_.environment).Check(episode(i)).makespan_us;
      EXPECT_DOUBLE_EQ(got->ratio, makespan_us / task.single_device_us);
    } else {
      EXPECT_TRUE(std::isnan(got->ratio));
    }
  }
  const FrontEndStats stats = front_end->stats();
  EXPECT_EQ(stats.episodes, 8);
  EXPECT_EQ(stats.steps, static_cast<int64_t>(steps));
}

TEST_F(TrajectoryIntakeTest, NothingUnsoundReachesTheLearner) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
  const Welcome welcome = actor.Join();

  Trajectory wrong_rho = episode(0);
  wrong_rho.rho.back() += 1;
  Trajectory too_long = episode(1);
  too_long.actions.push_back(0);
  too_long.start_placement.push_back(0);
  too_long.behaviour_log_prob.push_back(-1);
  too_long.rho.push_back(too_long.rho.back());
  Trajectory from_the_future = episode(2);
  from_the_future.policy_version = 6;
  ASSERT_TRUE(actor.Produce(wrong_rho));
  ASSERT_TRUE(actor.Produce(too_long));
  ASSERT_TRUE(actor.Produce(from_the_future));
  ASSERT_TRUE(actor.Produce(episode(3)));
  ASSERT_TRUE(actor.Repeat(episode(3), actor.produced()));
  ASSERT_TRUE(actor.Repeat(episode(4), actor.produced()));

  Trajectory strangers = episode(5);
  strangers.actor = {77, 1};
  strangers.sequence = 1;
  TrajectorySocket stranger(welcome.trajectories_endpoint, 4);
  ASSERT_TRUE(stranger.Send(strangers, milliseconds(10'000)));
  zmq::context_t context;
  zmq::socket_t noise(context, zmq::socket_type::dealer);
  noise.set(zmq::sockopt::linger, 0);
  noise.connect(welcome.trajectories_endpoint);
  noise.send(zmq::str_buffer("not a trajectory"), zmq::send_flags::none);

  const std::optional<Episode> sound = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(sound.has_value());
  EXPECT_EQ(sound->trajectory.sequence, actor.produced());
  ledger_.CountTrained(actor.key());
  EXPECT_TRUE(Await([&] { return front_end->stats().duplicates == 2 && front_end->stats().malformed >= 2; }));
  EXPECT_FALSE(front_end->Pop(milliseconds(100)).has_value());
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, actor.produced());
  EXPECT_EQ(total.trained, 1U);
  EXPECT_EQ(total.trained + total.rejected + total.lost, actor.produced());
  EXPECT_EQ(total.rejected, 3U);
  EXPECT_EQ(front_end->stats().episodes, 1);
}

TEST_F(TrajectoryIntakeTest, WhatAnActorStillHasFromALearnerBeforeIsTakenUnderTheLagRule) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 2);
  const Welcome welcome = actor.Join({{40, 1}});
  const ActorKey before{welcome.actor.actor_id, 40};
  TrajectorySocket socket(welcome.trajectories_endpoint, 4);
  Trajectory spooled = episode(0);
  spooled.actor = before;
  spooled.sequence = 11;
  ASSERT_TRUE(socket.Send(spooled, milliseconds(10'000)));
  const std::optional<Episode> taken = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->trajectory.actor, before);
  ledger_.CountTrained(before);
  // Of weights that were lost with that learner: nothing that this actor could be blamed for.
  spooled.policy_version = weights_->version + 3;
  for (uint64_t i = 0; i < 40; ++i) {
    spooled.sequence = 12 + i;
    ASSERT_TRUE(socket.Send(spooled, milliseconds(10'000)));
  }
  EXPECT_TRUE(Await([&] { return ledger_.Total().stale == 40; }));
  EXPECT_EQ(ledger_.Total().rejected, 0U);
  EXPECT_EQ(front_end->stats().cut_off, 0);
}

TEST_F(TrajectoryIntakeTest, WhoSendsUnsoundEpisodesAllTheTimeIsCutOff) {
  const auto front_end = Start();
  HandPlayedActor liar(front_end->address(), "a", 1);
  liar.Join();
  for (int i = 0; i < 40; ++i) {
    Trajectory too_long = episode(1);
    too_long.actions.push_back(0);
    too_long.start_placement.push_back(0);
    too_long.behaviour_log_prob.push_back(0);
    too_long.rho.push_back(0);
    liar.Produce(too_long);
  }
  EXPECT_TRUE(Await([&] { return front_end->stats().cut_off > 0; }));
  // Without keys it may come back, as another connection.
  EXPECT_LE(ledger_.Total().rejected, 17U * (1 + static_cast<uint64_t>(front_end->stats().cut_off)));
}

// What only the simulator can tell counts against the sender like what anybody can see.
TEST_F(TrajectoryIntakeTest, WhoLiesAboutRewardsAllTheTimeIsCutOff) {
  const auto front_end = Start();
  HandPlayedActor liar(front_end->address(), "a", 1);
  liar.Join();
  for (int i = 0; i < 60; ++i) {
    Trajectory false_one = episode(1);
    for (float& rho : false_one.rho) rho += 0.5F;
    liar.Produce(false_one);
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(Await([&] { return front_end->stats().cut_off > 0; }));
  EXPECT_EQ(front_end->stats().episodes, 0);
}

}  // namespace
}  // namespace emplace
