#include "learner/update/objective/advantage_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/error.h"

namespace emplace {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<Trajectory> OnGraphs(const std::vector<GraphId>& graphs) {
  std::vector<Trajectory> batch;
  for (const GraphId graph : graphs) batch.emplace_back().graph = graph;
  return batch;
}

std::vector<double> FactorsOf(AdvantageScale& scale, const std::vector<Trajectory>& batch,
                              const std::vector<std::vector<float>>& advantages) {
  return scale.Factors(batch, advantages, StandardDeviation(advantages));
}

TEST(AdvantageScale, NoneLeavesThemAndBatchTakesOneSpread) {
  const std::vector<Trajectory> batch = OnGraphs({0, 1});
  const std::vector<std::vector<float>> advantages = {{1, -1}, {3, -3}};
  AdvantageScale none(AdvantageUnit::kNone, 2);
  AdvantageScale by_batch(AdvantageUnit::kBatch, 2);
  EXPECT_THAT(FactorsOf(none, batch, advantages), ElementsAre(1.0, 1.0));
  // Variance (1 + 1 + 9 + 9) / 4 = 5.
  const double factor = 1 / std::sqrt(5.0);
  EXPECT_THAT(FactorsOf(by_batch, batch, advantages), ElementsAre(DoubleNear(factor, 1e-7), DoubleNear(factor, 1e-7)));
}

TEST(AdvantageScale, GraphGivesEachGraphItsOwn) {
  AdvantageScale scale(AdvantageUnit::kGraph, 3);
  const std::vector<Trajectory> batch = OnGraphs({2, 0, 2});
  const std::vector<double> factors = FactorsOf(scale, batch, {{100, -100}, {0.01F, -0.01F}, {200, -200}});
  // Mean squares 25,000 and 1e-4.
  EXPECT_NEAR(factors[0], 1 / std::sqrt(25000.0), 1e-9);
  EXPECT_EQ(factors[0], factors[2]);
  EXPECT_NEAR(factors[1], 100, 1e-3);
}

TEST(AdvantageScale, GraphRemembersForAWhile) {
  AdvantageScale scale(AdvantageUnit::kGraph, 1);
  FactorsOf(scale, OnGraphs({0}), {{10, -10}});
  EXPECT_THAT(scale.mean_squares(), ElementsAre(100));
  FactorsOf(scale, OnGraphs({0}), {{0, 0}});  // Of a lone first episode, say: it tells nothing.
  EXPECT_THAT(scale.mean_squares(), ElementsAre(100));
  FactorsOf(scale, OnGraphs({0}), {{1, std::numeric_limits<float>::infinity()}});
  EXPECT_THAT(scale.mean_squares(), ElementsAre(DoubleNear(80.2, 1e-12)));  // 0.8 * 100 + 0.2 * 1
  AdvantageScale resumed(AdvantageUnit::kGraph, 1);
  resumed.Load(scale.mean_squares());
  EXPECT_EQ(FactorsOf(resumed, OnGraphs({0}), {{3}}), FactorsOf(scale, OnGraphs({0}), {{3}}));
  EXPECT_THROW(resumed.Load({1, 2}), Error);
}

TEST(AdvantageScale, OneHugeAdvantageDoesNotKeepItsGraphFromLearning) {
  AdvantageScale scale(AdvantageUnit::kGraph, 1);
  const double usual = FactorsOf(scale, OnGraphs({0}), {{1, -1}})[0];
  FactorsOf(scale, OnGraphs({0}), {{1e8F, -1}});
  double factor = 0;
  int batches = 0;
  for (; batches < 1000 && factor < usual / 2; ++batches) factor = FactorsOf(scale, OnGraphs({0}), {{1, -1}})[0];
  // 0.8 + 0.2 * 1e4 = 2000.8 times the mean square; 0.8^b * 2000 + 1 <= 4 from b = log(2000 / 3) / log(1.25) = 29.1 on.
  EXPECT_EQ(batches, 30);
  // What is ten times as large is taken as it is: 0.8 * 1 + 0.2 * 100.
  AdvantageScale sound(AdvantageUnit::kGraph, 1);
  FactorsOf(sound, OnGraphs({0}), {{1, -1}});
  FactorsOf(sound, OnGraphs({0}), {{10, -10}});
  EXPECT_THAT(sound.mean_squares(), ElementsAre(DoubleNear(20.8, 1e-9)));
}

}  // namespace
}  // namespace emplace
