#include "learner/intake/trajectory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "policy/placeto/placeto_kind.h"
#include "simulator/environment/placement_env.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

TEST(TrajectoryCheck, AcceptsWhatActorsMakeAndReportsItsEnd) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(1, 6);
  for (const RewardUnit reward : {RewardUnit::kLog, RewardUnit::kSeconds, RewardUnit::kSqrt}) {
    EnvironmentConfig environment;
    environment.reward = reward;
    TrajectoryChecker checker(tasks, PlacetoKind(), environment);
    int infeasible = 0;
    for (const Trajectory& trajectory : Episodes(tasks, environment, SmallPolicy(1), 60, Rng(2))) {
      ASSERT_EQ(CheckShape(tasks, PlacetoKind(), trajectory), std::nullopt);
      const TrajectoryChecker::Outcome outcome = checker.Check(trajectory);
      EXPECT_EQ(outcome.reason, std::nullopt);
      PlacementEnv env(tasks[trajectory.graph], environment);
      env.Reset(trajectory.actions);
      EXPECT_EQ(outcome.makespan_us, env.makespan_us());
      EXPECT_EQ(outcome.feasible, env.feasible());
      if (!outcome.feasible) ++infeasible;
    }
    EXPECT_GT(infeasible, 0);  // Else the test has not seen both.
  }
}

TEST(TrajectoryCheck, RefusesEachDamageWithItsReason) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(2, 3);
  TrajectoryChecker checker(tasks, PlacetoKind(), {});
  // Why it is refused, by either step.
  const auto refusal = [&](const Trajectory& trajectory) {
    const std::optional<std::string> shape = CheckShape(tasks, PlacetoKind(), trajectory);
    return shape ? shape : checker.Check(trajectory).reason;
  };
  // Graph 1's group 0 may not go to device 0.
  Trajectory good;
  for (Trajectory& trajectory : Episodes(tasks, {}, SmallPolicy(1), 30, Rng(3))) {
    const bool last_moves = trajectory.actions.back() != trajectory.start_placement.back();
    if (trajectory.graph == 1 && last_moves) good = std::move(trajectory);
  }
  ASSERT_EQ(refusal(good), std::nullopt);
  ASSERT_EQ(tasks[1].groups.allowed[0], 0);

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  const std::vector<std::pair<std::string, std::function<void(Trajectory&)>>> damages = {
      {"graph 3, there are 3", [](Trajectory& t) { t.graph = 3; }},
      {"graph 4294967295", [](Trajectory& t) { t.graph = 0xFFFFFFFFU; }},
      {"do not fit", [](Trajectory& t) { t.start_placement.pop_back(); }},
      {"do not fit", [](Trajectory& t) { t.actions.push_back(0); }},
      {"do not fit", [](Trajectory& t) { t.behaviour_log_prob.clear(); }},
      {"do not fit", [](Trajectory& t) { t.rho.pop_back(); }},
      {"the start placement puts group 0 on device 0", [](Trajectory& t) { t.start_placement[0] = 0; }},
      {"an action puts group 0 on device 0", [](Trajectory& t) { t.actions[0] = 0; }},
      {"an action puts group 1 on device 2", [](Trajectory& t) { t.actions[1] = 2; }},
      {"on device 255", [](Trajectory& t) { t.start_placement.back() = 255; }},
      {"a log-probability is nan", [&](Trajectory& t) { t.behaviour_log_prob[0] = nan; }},
      {"a log-probability is -inf", [](Trajectory& t) { t.behaviour_log_prob[0] = -kInfinity; }},
      {"a log-probability is -51", [](Trajectory& t) { t.behaviour_log_prob[0] = -51; }},
      {"a log-probability is 0.5", [](Trajectory& t) { t.behaviour_log_prob.back() = 0.5F; }},
      {"a rho is inf", [](Trajectory& t) { t.rho[0] = kInfinity; }},
      {"a rho is", [&](Trajectory& t) { t.rho.back() = nan; }},
      {"its last rho is", [](Trajectory& t) { t.rho.back() += 0.01F * (1 + std::abs(t.rho.back())); }},
  };
  for (const auto& [reason, damage] : damages) {
    Trajectory bad = good;
    damage(bad);
    EXPECT_THAT(refusal(bad).value_or("(accepted)"), HasSubstr(reason));
  }
  EXPECT_EQ(refusal(good), std::nullopt);  // The checker itself took no harm.
}

// What no placement can have would outweigh all that is true.
TEST(TrajectoryCheck, BoundsRhoByTheGraph) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(4, 3);
  for (const RewardUnit reward : {RewardUnit::kLog, RewardUnit::kSeconds, RewardUnit::kSqrt}) {
    EnvironmentConfig environment;
    environment.reward = reward;
    TrajectoryChecker checker(tasks, PlacetoKind(), environment);
    for (const Trajectory& trajectory : Episodes(tasks, environment, SmallPolicy(1), 10, Rng(5))) {
      for (const float rho : {3e37F, 3e38F, 1e6F, -1e6F}) {
        Trajectory false_one = trajectory;
        false_one.rho[1] = rho;
        EXPECT_THAT(checker.Check(false_one).reason.value_or(""), HasSubstr("of this graph's placements it is")) << rho;
      }
    }
  }
}

TEST(TrajectoryCheck, RhoStaysWhereNothingMoves) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(4, 3);
  TrajectoryChecker checker(tasks, PlacetoKind(), {});
  int stays = 0;
  for (const Trajectory& trajectory : Episodes(tasks, {}, SmallPolicy(1), 30, Rng(5))) {
    for (size_t step = 0; step < trajectory.actions.size(); ++step) {
      if (trajectory.actions[step] != trajectory.start_placement[step]) continue;
      Trajectory false_one = trajectory;
      false_one.rho[step + 1] = std::nextafter(false_one.rho[step + 1], 0.0F);
      const std::optional<std::string> reason = checker.Check(false_one).reason;
      EXPECT_THAT(reason.value_or(""), HasSubstr("moves nothing"));
      ++stays;
    }
  }
  EXPECT_GT(stays, 10);
}

// Steps of some hundred microseconds, so that a rho in seconds is a small number.
TEST(TrajectoryCheck, AFalseRhoIsFoundHoweverSmallItIs) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(1, 6);
  for (const RewardUnit reward : {RewardUnit::kSeconds, RewardUnit::kSqrt}) {
    EnvironmentConfig environment;
    environment.reward = reward;
    TrajectoryChecker checker(tasks, PlacetoKind(), environment);
    for (Trajectory trajectory : Episodes(tasks, environment, SmallPolicy(1), 20, Rng(2))) {
      const auto last = static_cast<double>(trajectory.rho.back());
      trajectory.rho.back() = static_cast<float>(0.99 * last);
      EXPECT_TRUE(checker.Check(trajectory).reason) << last;
    }
  }
}

// A false rho on the way is found sooner or later, wherever it is; a true one never is.
TEST(TrajectoryCheck, LooksAtAnyStep) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(4, 3);
  TrajectoryChecker checker(tasks, PlacetoKind(), {});
  for (const Trajectory& trajectory : Episodes(tasks, {}, SmallPolicy(1), 5, Rng(6))) {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(checker.Check(trajectory).reason, std::nullopt);
    Trajectory false_one = trajectory;
    for (size_t step = 0; step + 1 < false_one.rho.size(); ++step) false_one.rho[step] += 0.5F;
    false_one.start_placement = trajectory.start_placement;
    int found = 0;
    for (int i = 0; i < 50; ++i) found += checker.Check(false_one).reason ? 1 : 0;
    EXPECT_GT(found, 0);
  }
}

// Measured rewards are compared with no simulation, but with what they may be; the simulator's numbers are its own.
TEST(TrajectoryCheck, MeasuredRewardsAreHeldToTheirRange) {
  const std::vector<PlacementTask> tasks = RoomyWorkload(5, 3).train;
  const HardwareConfig hardware{.penalty = 10};
  TrajectoryChecker checker(tasks, PlacetoKind(), {}, hardware);
  for (Trajectory trajectory : Episodes(tasks, {}, SmallPolicy(3), 10, Rng(8))) {
    const double simulated_us = TrajectoryChecker(tasks, PlacetoKind(), {}).Check(trajectory).makespan_us;
    trajectory.claim = Claim::kMeasured;
    for (float& rho : trajectory.rho) rho += std::log(1.25F);  // All is a quarter slower than simulated.
    const TrajectoryChecker::Outcome outcome = checker.Check(trajectory);
    EXPECT_FALSE(outcome.reason) << *outcome.reason;
    EXPECT_TRUE(outcome.feasible);
    EXPECT_DOUBLE_EQ(outcome.makespan_us, simulated_us);
    const PlacementTask& task = tasks[trajectory.graph];
    EXPECT_NEAR(outcome.measured_ratio, 1.25 * task.RatioToSingleDevice(simulated_us), 1e-4);

    // As slow as what failed: no placement to be proud of.
    const auto slowest = static_cast<float>(Rho({}, 10 * task.single_device_us, {}, {}));
    Trajectory failed = trajectory;
    std::ranges::fill(failed.rho, slowest);
    EXPECT_FALSE(checker.Check(failed).reason);
    EXPECT_FALSE(checker.Check(failed).feasible);
    Trajectory slower = trajectory;
    std::ranges::fill(slower.rho, slowest + static_cast<float>(EnvironmentConfig().memory_penalty_cap) + 1);
    EXPECT_TRUE(checker.Check(slower).reason);
  }
}

}  // namespace
}  // namespace emplace
