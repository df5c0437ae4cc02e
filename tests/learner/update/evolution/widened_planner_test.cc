#include "learner/update/evolution/widened_planner.h"

#include <gtest/gtest.h>

#include <vector>

#include "policy/gaussian.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

PolicyWeights NumberedPlanner(int64_t parameters, float first) {
  const PolicyKind& kind = FindPolicyKind("planner");
  PolicyConfig config;
  config.kind = "planner";
  config.own["parameters"] = parameters;
  PolicyWeights weights;
  weights.shape = kind.Shape(config, 0);
  weights.version = 7;
  for (int64_t i = 0; i < parameters + parameters * parameters; ++i) {
    weights.values.push_back(first + static_cast<float>(i));
  }
  return weights;
}

std::vector<float> SpreadRow(const PolicyWeights& weights, size_t row) {
  const Gaussian policy(weights);
  const auto values = policy.spread.subspan(row * policy.mean.size(), policy.mean.size());
  return {values.begin(), values.end()};
}

TEST(WidenedPlannerTest, SpreadsWhatWasLearnedByTheFactor) {
  const PolicyWeights widened = WidenedPlanner(NumberedPlanner(2, 10), NumberedPlanner(2, 100), 1, 3);
  EXPECT_EQ(widened.values, (std::vector<float>{10, 11, 36, 39, 42, 45}));
  EXPECT_EQ(widened.version, 0U);
}

TEST(WidenedPlannerTest, LeavesComplementsOut) {
  PolicyWeights initial = NumberedPlanner(2, 10);
  initial.shape.sizes[kComplements] = 1;
  initial.values.insert(initial.values.end(), {1, 2});
  const PolicyWeights widened = WidenedPlanner(initial, NumberedPlanner(2, 100), 1, 1);
  EXPECT_EQ(widened.shape, NumberedPlanner(2, 0).shape);
  EXPECT_EQ(widened.values, (std::vector<float>{10, 11, 12, 13, 14, 15}));
}

TEST(WidenedPlannerTest, AddsParametersAsTheyAreInANewPolicy) {
  const PolicyWeights widened = WidenedPlanner(NumberedPlanner(2, 10), NumberedPlanner(3, 100), 1, 2);
  EXPECT_EQ(widened.shape, NumberedPlanner(3, 0).shape);
  const Gaussian policy(widened);
  EXPECT_EQ(std::vector<float>(policy.mean.begin(), policy.mean.end()), (std::vector<float>{10, 11, 102}));
  EXPECT_EQ(SpreadRow(widened, 0), (std::vector<float>{24, 26, 105}));
  EXPECT_EQ(SpreadRow(widened, 1), (std::vector<float>{28, 30, 108}));
  EXPECT_EQ(SpreadRow(widened, 2), (std::vector<float>{109, 110, 111}));
}

TEST(WidenedPlannerTest, StartsBetweenWhatWasLearnedAndThePlannerSetByHand) {
  const PolicyWeights half = WidenedPlanner(NumberedPlanner(3, 10), NumberedPlanner(2, 100), 0.5, 1);
  const Gaussian policy(half);
  EXPECT_EQ(std::vector<float>(policy.mean.begin(), policy.mean.end()), (std::vector<float>{5, 5.5, 12}));
}

TEST(WidenedPlannerTest, KeepsParametersThatARunDoesNotLearn) {
  const PolicyWeights widened = WidenedPlanner(NumberedPlanner(3, 10), NumberedPlanner(2, 100), 1, 1);
  EXPECT_EQ(widened.shape, NumberedPlanner(3, 0).shape);
  const Gaussian policy(widened);
  EXPECT_EQ(std::vector<float>(policy.mean.begin(), policy.mean.end()), (std::vector<float>{10, 11, 12}));
  EXPECT_EQ(SpreadRow(widened, 0), (std::vector<float>{13, 14, 0}));
  EXPECT_EQ(SpreadRow(widened, 1), (std::vector<float>{16, 17, 0}));
  EXPECT_EQ(SpreadRow(widened, 2), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace emplace
