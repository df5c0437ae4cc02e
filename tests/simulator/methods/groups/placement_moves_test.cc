#include "simulator/methods/groups/placement_moves.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_task.h"

namespace emplace {
namespace {

TEST(PlacementMoves, ChangeSomethingAndKeepToAllowedDevices) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.3});
    const PlacementMoves moves(task.groups);
    if (!moves.any()) continue;
    std::vector<uint8_t> groups;
    for (int32_t node = 0; node < task.groups.num_groups; ++node) {
      groups.push_back(static_cast<uint8_t>(RandomAllowedDevice(task.groups, node, rng)));
    }
    for (int step = 0; step < 50; ++step) {
      const std::vector<uint8_t> before = groups;
      moves.Apply(rng, groups);
      EXPECT_NE(groups, before);
      for (size_t node = 0; node < groups.size(); ++node) {
        ASSERT_EQ(task.groups.allowed[node * static_cast<size_t>(task.groups.num_devices) + groups[node]], 1);
      }
    }
  }
}

TEST(PlacementMoves, ReachEveryPlacement) {
  GroupGraph graph;
  graph.num_groups = 3;
  graph.num_devices = 3;
  graph.allowed = {1, 1, 1, 1, 0, 1, 0, 1, 0};
  const PlacementMoves moves(graph);
  ASSERT_TRUE(moves.any());
  Rng rng(1);
  std::vector<uint8_t> groups = {0, 0, 1};
  std::set<std::vector<uint8_t>> seen;
  for (int step = 0; step < 1000; ++step) {
    moves.Apply(rng, groups);
    seen.insert(groups);
  }
  EXPECT_EQ(seen.size(), 3u * 2u * 1u);
}

TEST(PlacementMoves, KnowWhenThereIsNoChoice) {
  GroupGraph graph;
  graph.num_groups = 2;
  graph.num_devices = 2;
  graph.allowed = {1, 0, 0, 1};
  EXPECT_FALSE(PlacementMoves(graph).any());
}

}  // namespace
}  // namespace emplace
