#include "policy/features/group_features.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

float At(const GroupFeatures& features, int32_t group, GroupFeature feature) {
  return features
      .nodes[static_cast<size_t>(group) * static_cast<size_t>(kNumGroupFeatures) + static_cast<size_t>(feature)];
}

// Groups 0 -> 1 -> 3 and 2 -> 3, of 10, 30, 5 and 20 us: the most expensive path is 0, 1, 3, of 60 us.
TEST(GroupFeatures, AreWhatTheirNamesSay) {
  GroupGraph graph;
  graph.num_groups = 4;
  graph.num_devices = 2;
  graph.cost_us = {10, 30, 5, 20};
  graph.output_bytes = {100, 0, 50, 25};
  graph.memory_bytes = {8, 4, 2, 0};
  graph.parents = {.begin = {0, 0, 1, 1, 3}, .items = {0, 1, 2}};
  graph.allowed.assign(8, 1);
  graph.DeriveChildren();
  const GroupFeatures features = MakeGroupFeatures(graph);
  EXPECT_FLOAT_EQ(At(features, 0, GroupFeature::kCostShare), 10.0F / 30);
  EXPECT_FLOAT_EQ(At(features, 1, GroupFeature::kCostLog), std::log1p(30.0F) / 10);
  EXPECT_FLOAT_EQ(At(features, 2, GroupFeature::kOutputShare), 0.5F);
  EXPECT_FLOAT_EQ(At(features, 1, GroupFeature::kOutputLog), 0.0F);
  EXPECT_FLOAT_EQ(At(features, 2, GroupFeature::kMemoryShare), 0.25F);
  EXPECT_FLOAT_EQ(At(features, 3, GroupFeature::kParentsLog), std::log1p(2.0F) / 3);
  EXPECT_FLOAT_EQ(At(features, 3, GroupFeature::kChildrenLog), 0.0F);
  EXPECT_FLOAT_EQ(At(features, 3, GroupFeature::kFromStart), 40.0F / 60);
  EXPECT_FLOAT_EQ(At(features, 2, GroupFeature::kFromStart), 0.0F);
  EXPECT_FLOAT_EQ(At(features, 0, GroupFeature::kToEnd), 1.0F);
  EXPECT_FLOAT_EQ(At(features, 2, GroupFeature::kToEnd), 25.0F / 60);
  EXPECT_FLOAT_EQ(At(features, 2, GroupFeature::kPosition), 2.0F / 3);
  EXPECT_EQ(features.from, (std::vector<int64_t>{0, 1, 1, 3, 2, 3}));
  EXPECT_EQ(features.to, (std::vector<int64_t>{1, 0, 3, 1, 3, 2}));
}

TEST(GroupFeatures, AreFiniteAndOfModestSizeOnAnyGraph) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 40, .max_groups = 40});
    const GroupFeatures features = MakeGroupFeatures(task.groups);
    ASSERT_EQ(std::ssize(features.nodes), int64_t{task.groups.num_groups} * kNumGroupFeatures);
    for (const float value : features.nodes) {
      ASSERT_GE(value, 0.0F) << "seed " << seed;
      ASSERT_LT(value, 10.0F) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace emplace
