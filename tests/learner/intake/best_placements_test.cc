#include "learner/intake/best_placements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "policy/placeto/placeto_kind.h"
#include "simulator/environment/placement_env.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

using testing::HasSubstr;

// With these, what does not fit in memory never looks better than what does.
EnvironmentConfig Strict(RewardUnit reward) {
  EnvironmentConfig environment;
  environment.reward = reward;
  environment.memory_penalty = 1e12;
  environment.memory_penalty_cap = 1e12;
  return environment;
}

class BestPlacementsTest : public testing::Test {
 protected:
  std::vector<Trajectory> Sampled(const EnvironmentConfig& environment, int count) const {
    return Episodes(tasks_, environment, SmallPolicy(1, 7), count, Rng(2));
  }

  // The check of an episode's end, and then of what BestPlacements itself looks at.
  static std::optional<std::string> Show(const Trajectory& episode, BestPlacements& best, TrajectoryChecker& checker) {
    const TrajectoryChecker::Outcome end = checker.CheckPoint(episode, episode.actions.size());
    EXPECT_EQ(end.reason, std::nullopt);
    return best.Consider(episode, end, checker);
  }

  // Shows sound episodes. The best of each graph that ends one and fits; infinity: there is none.
  std::map<GraphId, double> ShowAll(const std::vector<Trajectory>& episodes, BestPlacements& best,
                                    TrajectoryChecker& checker) const {
    std::map<GraphId, double> ends;
    for (GraphId graph = 0; graph < tasks_.size(); ++graph) ends[graph] = std::numeric_limits<double>::infinity();
    for (const Trajectory& episode : episodes) {
      EXPECT_EQ(Show(episode, best, checker), std::nullopt);
      const TrajectoryChecker::Outcome end = checker.Check(episode);
      if (end.feasible) ends[episode.graph] = std::min(ends[episode.graph], end.makespan_us);
    }
    return ends;
  }

  // The oracle: every episode played again, step by step. Its best placement that fits; infinity: there is none.
  std::map<GraphId, double> Replayed(const EnvironmentConfig& environment,
                                     const std::vector<Trajectory>& episodes) const {
    std::map<GraphId, double> best;
    for (GraphId graph = 0; graph < tasks_.size(); ++graph) {
      PlacementEnv env(tasks_[graph], environment);
      for (const Trajectory& episode : episodes) {
        if (episode.graph != graph) continue;
        env.Reset(episode.start_placement);
        for (const uint8_t action : episode.actions) env.Step(action);
      }
      best[graph] = env.best_makespan_us();
    }
    return best;
  }

  // What the improvements say of each graph in the end. Each has to be better than the one before, fit, and be what it
  // says.
  std::map<GraphId, double> Checked(const std::vector<BestPlacements::Improvement>& all) const {
    std::map<GraphId, double> best;
    for (GraphId graph = 0; graph < tasks_.size(); ++graph) best[graph] = std::numeric_limits<double>::infinity();
    for (const BestPlacements::Improvement& improvement : all) {
      PlacementEnv env(tasks_[improvement.graph], {});
      env.Reset(improvement.groups);
      EXPECT_EQ(improvement.found.makespan_us, env.makespan_us());
      EXPECT_TRUE(env.feasible());
      const double ratio = tasks_[improvement.graph].RatioToSingleDevice(improvement.found.makespan_us);
      EXPECT_TRUE(improvement.found.ratio == ratio || std::isnan(ratio));
      EXPECT_EQ(improvement.found.update, 7U);
      EXPECT_LT(improvement.found.makespan_us, best[improvement.graph]);
      best[improvement.graph] = improvement.found.makespan_us;
    }
    return best;
  }

  // rho travels in float32, so of two placements that differ by less, either may be the best.
  static void ExpectSame(const std::map<GraphId, double>& found, const std::map<GraphId, double>& replayed) {
    ASSERT_EQ(found.size(), replayed.size());
    for (const auto& [graph, makespan_us] : replayed) {
      EXPECT_GE(found.at(graph), makespan_us);
      EXPECT_LE(found.at(graph), makespan_us * (1 + 1e-6));
    }
  }

  const std::vector<PlacementTask> tasks_ = TwoDeviceTasks(1, 8);
  const RunClock clock_{10};
};

TEST_F(BestPlacementsTest, FindsWhatAReplayOfEveryStepFinds) {
  for (const RewardUnit reward : {RewardUnit::kLog, RewardUnit::kSeconds, RewardUnit::kSqrt}) {
    const EnvironmentConfig environment = Strict(reward);
    const std::vector<Trajectory> episodes = Sampled(environment, 400);
    BestPlacements best(tasks_, PlacetoKind(), environment, clock_);
    TrajectoryChecker checker(tasks_, PlacetoKind(), environment);
    const std::map<GraphId, double> ends = ShowAll(episodes, best, checker);
    const std::vector<BestPlacements::Improvement> all = best.TakeImprovements();
    const std::map<GraphId, double> replayed = Replayed(environment, episodes);
    ExpectSame(Checked(all), replayed);
    EXPECT_NE(ends, replayed);  // Else the test has not seen a best one on the way.
    EXPECT_TRUE(best.TakeImprovements().empty());
    for (const BestPlacements::Improvement& improvement : all) EXPECT_GE(improvement.found.seconds, 10);

    double log_sum = 0;
    int graphs = 0;
    for (const auto& [graph, makespan_us] : replayed) {
      const double ratio = tasks_[graph].RatioToSingleDevice(makespan_us);
      if (!std::isfinite(ratio)) continue;
      log_sum += std::log(ratio);
      ++graphs;
    }
    ASSERT_GT(graphs, 0);
    EXPECT_NEAR(best.GeometricMeanRatio(), std::exp(log_sum / graphs), 1e-6);
  }
}

// Where memory costs next to nothing, most of what looks best does not fit.
TEST_F(BestPlacementsTest, WhatDoesNotFitIsNeverTheBest) {
  EnvironmentConfig environment;
  environment.memory_penalty = 0;
  const std::vector<Trajectory> episodes = Sampled(environment, 400);
  BestPlacements best(tasks_, PlacetoKind(), environment, clock_);
  TrajectoryChecker checker(tasks_, PlacetoKind(), environment);
  const std::map<GraphId, double> ends = ShowAll(episodes, best, checker);
  const std::map<GraphId, double> found = Checked(best.TakeImprovements());
  const std::map<GraphId, double> replayed = Replayed(environment, episodes);
  for (const auto& [graph, makespan_us] : found) {
    EXPECT_GE(makespan_us, replayed.at(graph));
    EXPECT_LE(makespan_us, ends.at(graph));
  }
}

TEST_F(BestPlacementsTest, AFalseClaimIsRejectedAndChangesNothing) {
  const EnvironmentConfig environment;
  BestPlacements best(tasks_, PlacetoKind(), environment, clock_);
  TrajectoryChecker checker(tasks_, PlacetoKind(), environment);
  for (Trajectory episode : Sampled(environment, 40)) {
    episode.rho.front() = -100;
    EXPECT_THAT(Show(episode, best, checker).value_or("(accepted)"),
                HasSubstr("its rho after 0 steps is -100, the simulator"));
  }
  EXPECT_TRUE(best.TakeImprovements().empty());
  EXPECT_TRUE(std::isnan(best.GeometricMeanRatio()));
  for (const SampleCounts& counts : best.counts()) EXPECT_EQ(counts.episodes + counts.steps, 0);
}

TEST_F(BestPlacementsTest, CountsWhatWasSampledUpToEachFind) {
  const EnvironmentConfig environment = Strict(RewardUnit::kLog);
  BestPlacements best(tasks_, PlacetoKind(), environment, clock_);
  TrajectoryChecker checker(tasks_, PlacetoKind(), environment);
  std::vector<SampleCounts> expected(tasks_.size(), SampleCounts{.episodes = 100, .steps = 1000});
  for (GraphId graph = 0; graph < tasks_.size(); ++graph) best.Restore(graph, expected[graph], std::nullopt);
  for (const Trajectory& episode : Sampled(environment, 200)) {
    Show(episode, best, checker);
    SampleCounts& counts = expected[episode.graph];
    ++counts.episodes;
    counts.steps += std::ssize(episode.actions);
    for (const BestPlacements::Improvement& improvement : best.TakeImprovements()) {
      EXPECT_EQ(improvement.graph, episode.graph);
      EXPECT_EQ(improvement.found.sampled.episodes, counts.episodes);
      EXPECT_EQ(improvement.found.sampled.steps, counts.steps);
    }
  }
  const std::vector<SampleCounts> counts = best.counts();
  for (GraphId graph = 0; graph < tasks_.size(); ++graph) {
    EXPECT_EQ(counts[graph].episodes, expected[graph].episodes);
    EXPECT_EQ(counts[graph].steps, expected[graph].steps);
  }
}

TEST_F(BestPlacementsTest, WhatWasRestoredHasToBeBeaten) {
  const EnvironmentConfig environment = Strict(RewardUnit::kLog);
  const std::vector<Trajectory> episodes = Sampled(environment, 200);
  const std::map<GraphId, double> replayed = Replayed(environment, episodes);
  TrajectoryChecker checker(tasks_, PlacetoKind(), environment);
  BestPlacements equal(tasks_, PlacetoKind(), environment, clock_);
  BestPlacements worse(tasks_, PlacetoKind(), environment, clock_);
  for (const auto& [graph, makespan_us] : replayed) {
    equal.Restore(graph, {}, FoundPlacement{.makespan_us = makespan_us});
    worse.Restore(graph, {}, FoundPlacement{.makespan_us = std::nextafter(makespan_us, 2 * makespan_us)});
  }
  for (const Trajectory& episode : episodes) {
    Show(episode, equal, checker);
    Show(episode, worse, checker);
  }
  EXPECT_TRUE(equal.TakeImprovements().empty());
  // What is better by a rounding error alone is seen where an episode ends.
  for (const BestPlacements::Improvement& improvement : worse.TakeImprovements())
    EXPECT_EQ(improvement.found.makespan_us, replayed.at(improvement.graph));
}

TEST_F(BestPlacementsTest, ManyThreadsFindTheSame) {
  const EnvironmentConfig environment = Strict(RewardUnit::kLog);
  const std::vector<Trajectory> episodes = Sampled(environment, 400);
  BestPlacements best(tasks_, PlacetoKind(), environment, clock_);
  std::vector<std::thread> threads;
  constexpr size_t kThreads = 4;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      TrajectoryChecker checker(tasks_, PlacetoKind(), environment);
      for (size_t i = t; i < episodes.size(); i += kThreads) Show(episodes[i], best, checker);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectSame(Checked(best.TakeImprovements()), Replayed(environment, episodes));
  int64_t counted = 0;
  for (const SampleCounts& counts : best.counts()) counted += counts.episodes;
  EXPECT_EQ(counted, std::ssize(episodes));
}

}  // namespace
}  // namespace emplace
