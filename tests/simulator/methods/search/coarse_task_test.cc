#include "simulator/methods/search/coarse_task.h"

#include <gtest/gtest.h>

#include "simulator/methods/auto_method.h"
#include "simulator/methods/search/search_space.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(CoarseTask, ExpandsToWhatItIsMadeOf) {
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 200, .parameters = 5, .restricted = 0.1});
    const PlacementTask whole = PlacementTask::Make(source.graph, source.cluster, 12);
    for (size_t level = 1; level < whole.search_levels.size(); ++level) {
      const CoarseTask coarse(whole, level);
      EXPECT_EQ(coarse.task().search_levels.size(), whole.search_levels.size() - level);
      EXPECT_LE(coarse.task().sim.num_ops, whole.sim.num_ops);
      // Every group of the level on one device.
      const std::vector<GroupIndex>& groups = whole.search_levels[level];
      const std::vector<uint8_t> allowed = whole.sim.AllowedOf(groups, whole.sim.num_ops);
      Placement placement;
      for (const GroupIndex group : groups) {
        auto device = static_cast<DeviceIndex>(group % whole.sim.num_devices);
        while (allowed[static_cast<size_t>(group * whole.sim.num_devices + device)] == 0)
          device = (device + 1) % whole.sim.num_devices;
        placement.push_back(device);
      }
      EXPECT_EQ(coarse.Expanded(coarse.Coarsened(placement)), placement) << "seed " << seed << ", level " << level;
    }
  }
}

TEST(CoarseTask, BringsAGroupToTheDeviceOfMostOfItsWork) {
  PlacementTask whole = HandTask(Diamond(), HandCluster(2));
  whole.search_levels.push_back({0, 0, 0, 1});  // 10, 20 and 30 us, and 10.
  EXPECT_EQ(CoarseTask(whole, 1).Coarsened(Placement{0, 0, 1, 0}), (Placement{0, 0}));
  EXPECT_EQ(CoarseTask(whole, 1).Coarsened(Placement{0, 1, 1, 1}), (Placement{1, 1}));
}

// In graphs so large `auto` begins on a contracted one.
TEST(CoarseTask, GivesTheSameWithAnyNumberOfThreads) {
  Rng rng(2);
  const RandomTaskSource source =
      RandomSource(rng, {.max_ops = 9000, .max_devices = 3, .memory_bytes = int64_t{1} << 50});
  const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
  const CoarseTask coarse(task, SearchSpace(task).LevelWith(kMostCoarseGroups));
  ASSERT_LT(2 * coarse.task().sim.num_ops, task.sim.num_ops);
  const MethodResult alone = AutoMethod({.budget = 300, .seed = 1}).Place(task);
  const MethodResult together = AutoMethod({.budget = 300, .seed = 1, .threads = 3}).Place(task);
  EXPECT_EQ(alone.placement, together.placement);
  EXPECT_EQ(alone.orders, together.orders);
  EXPECT_EQ(alone.evaluations, together.evaluations);
  EXPECT_LE(alone.evaluations, 300);
}

}  // namespace
}  // namespace emplace
