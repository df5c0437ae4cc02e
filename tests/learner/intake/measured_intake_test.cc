#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>

#include "learner/intake/trajectory_intake.h"
#include "simulator/environment/simulated_measure.h"
#include "simulator/graph/graph_io.h"
#include "tests/learner/pipeline/front_end_fixture.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Trajectories with rewards that their actors have measured on hardware.
class MeasuredIntakeTest : public FrontEndFixture {
 protected:
  MeasuredIntakeTest() { config_.hardware = {.recheck = 0, .tolerance = 2}; }

  std::unique_ptr<WholeFrontEnd> StartForMeasuring() {
    return std::make_unique<WholeFrontEnd>(
        workload_.train, config_, ledger_, measured_placements_, weights_, clocks_,
        ActorSessions::Extras{.runnable = RunnableGraphs{workload_.train_graphs, workload_.cluster},
                              .measuring = &measuring_});
  }
  // With rewards as the simulator has them, but for a factor.
  Trajectory Measured(uint64_t i, double factor = 1) {
    Trajectory trajectory = measured_[i % measured_.size()];
    trajectory.claim = Claim::kMeasured;
    for (float& rho : trajectory.rho) rho += static_cast<float>(std::log(factor));
    return trajectory;
  }

  const Workload workload_ = RoomyWorkload(1, 3);
  const std::vector<Trajectory> measured_ = Episodes(workload_.train, {}, *weights_, 8, Rng(2));
  BestPlacements measured_placements_{workload_.train, PlacetoKind(), config_.environment, clock_};
  std::atomic<bool> measuring_ = false;
};

TEST_F(MeasuredIntakeTest, WhoMeasuresGetsTheOpsAndOthersAreToldToPause) {
  const auto front_end = StartForMeasuring();
  HandPlayedActor simulating(front_end->address(), "a", 1);
  EXPECT_TRUE(simulating.Join().graphs.empty());
  EXPECT_FALSE(simulating.Beat().measuring);
  HandPlayedActor actor(front_end->address(), "hardware", 2);
  actor.Measure();
  const Welcome welcome = actor.Join();
  ASSERT_EQ(welcome.graphs.size(), workload_.train.size());
  for (size_t i = 0; i < welcome.graphs.size(); ++i) {
    EXPECT_EQ(ParseGraph(welcome.graphs[i], "welcome").num_ops(), workload_.train[i].sim.num_ops);
  }
  EXPECT_EQ(ParseClusterWithoutFiles(welcome.machine, "welcome").num_devices(), 2);
  EXPECT_TRUE(simulating.Beat().measuring);
  EXPECT_TRUE(Await([&] { return measuring_ && front_end->stats().actors.measuring == 1; }));
  actor.Leave();
  EXPECT_TRUE(Await([&] { return !measuring_; }));
  EXPECT_FALSE(simulating.Beat().measuring);
}

TEST_F(MeasuredIntakeTest, LockstepRefusesWhoMeasures) {
  config_.training.sync = Sync::kLockstep;
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "hardware", 1);
  const Hello hello{kProtocolVersion, "hardware", 1, {}, true};
  EXPECT_THAT(actor.Ask<Refusal>(hello).reason, HasSubstr("training.sync is lockstep"));
  EXPECT_TRUE(ledger_.ByActor().empty());
}

TEST_F(MeasuredIntakeTest, MeasuredRewardsOfWhoSimulatesAreRejected) {
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  ASSERT_TRUE(actor.Produce(Measured(0)));
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
  EXPECT_EQ(ledger_.Total().measured, 0U);
}

// What its sender says at the first look is true: they are the simulator's.
TEST_F(MeasuredIntakeTest, SimulatedRewardsOfWhoMeasuresAreRejected) {
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "hardware", 1);
  actor.Measure();
  actor.Join();
  Trajectory episode = Measured(0);
  episode.claim = Claim::kSimulated;
  ASSERT_TRUE(actor.Produce(episode));
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
  ASSERT_TRUE(actor.Produce(Measured(1)));
  EXPECT_TRUE(front_end->Pop(milliseconds(10'000)));
}

// The process connects again to a learner that was started anew, and may send what it has before it joins.
TEST_F(MeasuredIntakeTest, BeforeItsActorHasJoinedAgainAnEpisodeMayBeMeasured) {
  const ActorKey before = ledger_.Join("hardware", 1, 1);
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "another", 2);
  actor.Join();
  ASSERT_TRUE(actor.SendAs(before, Measured(0), 1));
  const std::optional<Episode> episode = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->proof, Proof::kUnverified);
}

TEST_F(MeasuredIntakeTest, InLockstepNoEpisodeIsMeasured) {
  config_.training.sync = Sync::kLockstep;
  const ActorKey before = ledger_.Join("hardware", 1, 1);
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "another", 2);
  actor.Join();
  ASSERT_TRUE(actor.SendAs(before, Measured(0), 1));
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
}

TEST_F(MeasuredIntakeTest, WithoutAnotherActorMeasuredRewardsAreUnverified) {
  config_.hardware.recheck = 1;
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "hardware", 1);
  actor.Measure();
  actor.Join();
  ASSERT_TRUE(actor.Produce(Measured(0, 1.5)));
  const std::optional<Episode> episode = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->proof, Proof::kUnverified);
  EXPECT_NEAR(episode->measured_ratio, 1.5 * episode->ratio, 1e-3 * episode->ratio);
  EXPECT_EQ(ledger_.Total().measured, 1U);
  EXPECT_EQ(ledger_.Total().measured_again, 0U);
}

// The learner asks the other actor, and what that measures decides.
TEST_F(MeasuredIntakeTest, AnotherActorConfirmsOrRefutes) {
  config_.hardware.recheck = 1;
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Measure();
  actor.Join();
  HandPlayedActor other(front_end->address(), "b", 2);
  other.Measure();
  other.Join();
  const auto answer = [&](double factor) {
    std::optional<MeasureRequest> request;
    for (int i = 0; i < kTries && !request; ++i) request = other.ReceiveIf<MeasureRequest>();
    ASSERT_TRUE(request);
    const PlacementTask& task = workload_.train[request->graph];
    std::vector<DeviceIndex> ops(task.group_of_op.size());
    task.Expand(request->groups, ops);
    const double makespan_us = SimulatedMeasure(task).Run(request->groups, ops).makespan_us;
    other.control().Send(MeasureReply{other.key(), request->id, factor * makespan_us});
  };
  ASSERT_TRUE(actor.Produce(Measured(0)));
  answer(1.5);
  const std::optional<Episode> episode = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->proof, Proof::kMeasuredAgain);
  EXPECT_EQ(ledger_.Total().measured_again, 1U);
  ASSERT_TRUE(actor.Produce(Measured(1)));
  answer(3);
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
  EXPECT_EQ(ledger_.Total().measured, 1U);
}

// An episode that waits for an answer when the run ends is counted like all others.
TEST_F(MeasuredIntakeTest, TheLedgerBalancesWithAnEpisodeHeldBack) {
  config_.hardware.recheck = 1;
  const auto front_end = StartForMeasuring();
  HandPlayedActor actor(front_end->address(), "a", 1);
  HandPlayedActor other(front_end->address(), "b", 2);
  for (HandPlayedActor* const client : {&actor, &other}) {
    client->Measure();
    client->Join();
  }
  ASSERT_TRUE(actor.Produce(Measured(0)));
  EXPECT_TRUE(other.Receives<MeasureRequest>());
  actor.Leave();
  other.Leave();
  front_end->Finish(milliseconds(10'000));
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, 1U);
  EXPECT_EQ(total.stale, 1U);
  EXPECT_EQ(total.lost, 0U);
}

}  // namespace
}  // namespace emplace
