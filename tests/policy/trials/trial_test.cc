#include "policy/trials/trial.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace emplace {
namespace {

RunConfig Config() {
  RunConfig config;
  config.training.episodes_per_update = 40;
  config.evolution.population = 8;
  return config;
}

TEST(Trial, AllCandidatesMeetTheSameProblems) {
  RunConfig config = Config();
  config.evolution.most_budget = 1000;
  for (const PolicyVersion version : {PolicyVersion{0}, PolicyVersion{7}}) {
    std::map<int64_t, std::map<uint64_t, int64_t>> of_candidate;  // Budgets by problem.
    for (uint32_t index = 0; index < 40; ++index) {
      const Trial trial = TrialOf(config, 0, version, index);
      EXPECT_TRUE(of_candidate[trial.candidate].emplace(trial.problem, trial.budget).second);
    }
    ASSERT_EQ(of_candidate.size(), 8U);
    for (const auto& [candidate, problems] : of_candidate) {
      EXPECT_EQ(problems, of_candidate[0]);
      EXPECT_EQ(problems.size(), 5U);
    }
  }
}

TEST(Trial, NeighboursShareTheirProblem) {
  const RunConfig config = Config();
  for (uint32_t index = 0; index < 40; ++index) {
    EXPECT_EQ(TrialOf(config, 0, 3, index).problem, TrialOf(config, 0, 3, index / 8 * 8).problem);
  }
}

TEST(Trial, InstancesAreNew) {
  const RunConfig config = Config();
  std::set<uint64_t> seen;
  for (PolicyVersion version = 0; version < 10; ++version) {
    for (uint32_t index = 0; index < 40; index += 8) {
      EXPECT_TRUE(seen.insert(TrialOf(config, 0, version, index).problem).second);
    }
  }
}

TEST(Trial, GraphsTakeTurns) {
  const RunConfig config = Config();
  std::map<uint64_t, int> plays;
  for (PolicyVersion version = 0; version < 7; ++version) {
    for (uint32_t index = 0; index < 40; index += 8) ++plays[TrialOf(config, 7, version, index).problem];
  }
  ASSERT_EQ(plays.size(), 7U);
  for (const auto& [graph, times] : plays) EXPECT_EQ(times, 5) << "graph " << graph;
}

TEST(Trial, BudgetsAreSpreadOverTheirLogarithm) {
  RunConfig config = Config();
  config.evolution.most_budget = 999;
  std::map<int, int> decades;
  for (PolicyVersion version = 0; version < 600; ++version) {
    const int64_t budget = TrialOf(config, 0, version, 0).budget;
    ASSERT_GE(budget, 1);
    ASSERT_LE(budget, 999);
    ++decades[budget < 10 ? 1 : budget < 100 ? 2 : 3];
  }
  for (const auto& [decade, count] : decades) EXPECT_NEAR(count, 200, 60) << "decade " << decade;
  config.evolution.most_budget = 1;
  EXPECT_EQ(TrialOf(config, 0, 5, 3).budget, 1);
}

}  // namespace
}  // namespace emplace
