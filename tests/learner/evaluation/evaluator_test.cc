#include "learner/evaluation/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "policy/players.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

TEST(Evaluator, GivesEachGraphsRatioAndTheirGeometricMean) {
  std::vector<PlacementTask> tasks = TwoDeviceTasks(1, 8);
  tasks[5].single_device = -1;  // As for a graph that no device may run alone: it has no ratio.
  tasks[5].single_device_us = std::numeric_limits<double>::infinity();
  const PolicyWeights weights = SmallPolicy(2, 41);
  const PlacerOptions options;
  const EvaluationResult result = Evaluate(weights, tasks, options);

  EXPECT_EQ(result.version, 41U);
  ASSERT_EQ(result.ratios.size(), tasks.size());
  const std::unique_ptr<Player> player = MakePlayer(weights);
  double product = 1;
  int64_t infeasible = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const PlacerResult placed = PlaceWithPolicy(*player, tasks[i], options);
    if (!placed.feasible) ++infeasible;
    if (i == 5) {
      EXPECT_TRUE(std::isnan(result.ratios[i]));
      continue;
    }
    EXPECT_DOUBLE_EQ(result.ratios[i], placed.makespan_us / tasks[i].single_device_us);
    product *= result.ratios[i];
  }
  EXPECT_NEAR(result.geometric_mean_ratio, std::pow(product, 1.0 / 7), 1e-12);
  EXPECT_EQ(result.infeasible, infeasible);
}

TEST(Evaluator, IsTheSameEveryTime) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(3, 5);
  const PolicyWeights weights = SmallPolicy(3);
  EXPECT_EQ(Evaluate(weights, tasks, {}).ratios, Evaluate(weights, tasks, {}).ratios);
}

TEST(Evaluator, TheSingleDeviceStartHasRatioOne) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(4, 4);
  PlacerOptions options;
  options.start = Start::kSingle;
  const EvaluationResult start = EvaluateStart(tasks, options);
  for (size_t i = 0; i < tasks.size(); i += 2) EXPECT_DOUBLE_EQ(start.ratios[i], 1);  // Odd ones bar a device.
}

TEST(Evaluator, NoGraphsHaveNoMean) {
  const EvaluationResult result = Evaluate(SmallPolicy(1), {}, {});
  EXPECT_TRUE(result.ratios.empty());
  EXPECT_TRUE(std::isnan(result.geometric_mean_ratio));
}

}  // namespace
}  // namespace emplace
