#include "learner/intake/measurement_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policy/placeto/placeto_kind.h"
#include "simulator/environment/placement_env.h"
#include "simulator/environment/simulated_measure.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

using std::chrono::seconds;
using Result = MeasurementAudit::Result;

constexpr ActorKey kClaims{0, 7};
constexpr ActorKey kAsked{1, 3};
constexpr ActorKey kThird{2, 3};
const MeasurementAudit::Time kJoined;

class MeasurementAuditTest : public testing::Test {
 protected:
  // An episode whose rewards somebody has measured: they happen to be those of the simulator.
  Trajectory Measured() {
    Trajectory trajectory = Episodes(tasks_, {}, SmallPolicy(1), 1, Rng(next_++))[0];
    trajectory.actor = kClaims;
    trajectory.claim = Claim::kMeasured;
    return trajectory;
  }
  double MakespanUs(const MeasureRequest& request) {
    const PlacementTask& task = tasks_[request.graph];
    std::vector<DeviceIndex> ops(task.group_of_op.size());
    task.Expand(request.groups, ops);
    return SimulatedMeasure(task).Run(request.groups, ops).makespan_us;
  }
  MeasurementAudit Audit(double share, uint64_t seed = 1) {
    return {tasks_, PlacetoKind(), {}, {.timeout_s = 10, .recheck = share, .tolerance = 1.5}, seed};
  }

  const std::vector<PlacementTask> tasks_ = TwoDeviceTasks(3, 3);
  uint64_t next_ = 0;  // Seed of the next episode.
};

TEST_F(MeasurementAuditTest, AnotherActorIsAskedAndConfirms) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const double factor : {1.0, 1.4, 1 / 1.4}) {
      MeasurementAudit audit = Audit(1, seed);
      Trajectory trajectory = Measured();
      const auto order = audit.Begin(trajectory, "peer", std::vector{kClaims, kAsked}, kJoined);
      ASSERT_TRUE(order);
      EXPECT_EQ(order->to, kAsked);
      EXPECT_EQ(audit.held(), 1U);
      audit.Answer({kAsked, order->request.id, factor * MakespanUs(order->request)});
      const auto verdicts = audit.TakeVerdicts(kJoined);
      ASSERT_EQ(verdicts.size(), 1U);
      EXPECT_EQ(verdicts[0].result, Result::kConfirmed) << verdicts[0].reason;
      EXPECT_EQ(verdicts[0].trajectory.actor, kClaims);
      EXPECT_EQ(verdicts[0].sender, "peer");
      EXPECT_EQ(audit.held(), 0U);
    }
  }
}

TEST_F(MeasurementAuditTest, AnAnswerBeyondTheToleranceMakesTheClaimFalse) {
  for (const double factor : {1.6, 1 / 1.6}) {
    MeasurementAudit audit = Audit(1);
    Trajectory trajectory = Measured();
    const auto order = audit.Begin(trajectory, "peer", std::vector{kAsked}, kJoined);
    ASSERT_TRUE(order);
    audit.Answer({kAsked, order->request.id, factor * MakespanUs(order->request)});
    const auto verdicts = audit.TakeVerdicts(kJoined);
    ASSERT_EQ(verdicts.size(), 1U);
    EXPECT_EQ(verdicts[0].result, Result::kFalse);
    EXPECT_THAT(verdicts[0].reason, testing::HasSubstr("measured again by actor 1"));
  }
}

TEST_F(MeasurementAuditTest, WithoutAnotherActorNothingIsHeldBack) {
  MeasurementAudit audit = Audit(1);
  Trajectory trajectory = Measured();
  const size_t steps = trajectory.actions.size();
  EXPECT_FALSE(audit.Begin(trajectory, "peer", std::vector{kClaims}, kJoined));
  // The same actor after a restart is no other one.
  EXPECT_FALSE(audit.Begin(trajectory, "peer", std::vector{ActorKey{kClaims.actor_id, 99}}, kJoined));
  EXPECT_FALSE(audit.Begin(trajectory, "peer", {}, kJoined));
  EXPECT_EQ(trajectory.actions.size(), steps);
  EXPECT_EQ(audit.held(), 0U);
}

TEST_F(MeasurementAuditTest, OnlyTheActorAskedIsHeardAndOnlyWithANumber) {
  MeasurementAudit audit = Audit(1);
  Trajectory trajectory = Measured();
  const auto order = audit.Begin(trajectory, "peer", std::vector{kAsked}, kJoined);
  ASSERT_TRUE(order);
  const double makespan_us = MakespanUs(order->request);
  audit.Answer({kThird, order->request.id, makespan_us});
  audit.Answer({kAsked, order->request.id + 1, makespan_us});
  for (const double no_time : {std::nan(""), 0.0, -1.0, HUGE_VAL}) audit.Answer({kAsked, order->request.id, no_time});
  EXPECT_TRUE(audit.TakeVerdicts(kJoined).empty());
  EXPECT_EQ(audit.held(), 1U);
  audit.Answer({kAsked, order->request.id, makespan_us});
  audit.Answer({kAsked, order->request.id, makespan_us});  // Twice.
  EXPECT_EQ(audit.TakeVerdicts(kJoined).size(), 1U);
}

TEST_F(MeasurementAuditTest, WithoutAnAnswerItGoesOnUnverified) {
  MeasurementAudit audit = Audit(1);
  Trajectory trajectory = Measured();
  ASSERT_TRUE(audit.Begin(trajectory, "peer", std::vector{kAsked}, kJoined));
  EXPECT_TRUE(audit.TakeVerdicts(kJoined + seconds(29)).empty());
  const auto verdicts = audit.TakeVerdicts(kJoined + seconds(31));
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].result, Result::kUnanswered);
}

TEST_F(MeasurementAuditTest, AtTheEndNoneIsKept) {
  MeasurementAudit audit = Audit(1);
  Trajectory first = Measured();
  Trajectory second = Measured();
  const auto order = audit.Begin(first, "peer", std::vector{kAsked}, kJoined);
  ASSERT_TRUE(order && audit.Begin(second, "peer", std::vector{kAsked}, kJoined));
  audit.Answer({kAsked, order->request.id, MakespanUs(order->request)});
  EXPECT_EQ(audit.TakeAll().size(), 2U);
  EXPECT_EQ(audit.held(), 0U);
}

TEST_F(MeasurementAuditTest, TheShareIsChosenAndTheMemoryIsBounded) {
  int chosen = 0;
  MeasurementAudit audit = Audit(0.25);
  for (int i = 0; i < 400; ++i) {
    Trajectory trajectory = Measured();
    if (audit.Begin(trajectory, "peer", std::vector{kAsked}, kJoined)) ++chosen;
    if (audit.held() > 32) audit.TakeAll();
  }
  EXPECT_GT(chosen, 60);  // 100 are expected, with a standard deviation of 9.
  EXPECT_LT(chosen, 140);
  MeasurementAudit all = Audit(1);
  for (int i = 0; i < 200; ++i) {
    Trajectory trajectory = Measured();
    all.Begin(trajectory, "peer", std::vector{kAsked}, kJoined);
  }
  EXPECT_EQ(all.held(), 64U);
}

}  // namespace
}  // namespace emplace
