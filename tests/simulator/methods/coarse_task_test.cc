#include "simulator/task/coarse_task.h"

#include <gtest/gtest.h>

#include "simulator/families/family.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/search/auto_method.h"
#include "simulator/methods/search/portfolio_search.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<std::vector<GroupIndex>> LevelsFrom(const PlacementTask& task, size_t level) {
  const std::vector<std::vector<GroupIndex>>& all = task.levels->All();
  return {all.begin() + static_cast<std::ptrdiff_t>(level), all.end()};
}

TEST(CoarseTask, ExpandsToWhatItIsMadeOf) {
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 200, .parameters = 5, .restricted = 0.1});
    const PlacementTask whole = PlacementTask::Make(source.graph, source.cluster, 12);
    const std::vector<std::vector<GroupIndex>>& levels = whole.levels->All();
    for (size_t level = 1; level < levels.size(); ++level) {
      const CoarseTask coarse(whole, LevelsFrom(whole, level));
      EXPECT_EQ(coarse.task().levels->All().size(), levels.size() - level);
      EXPECT_LE(coarse.task().sim.num_ops, whole.sim.num_ops);
      // Every group of the level on one device.
      const std::vector<GroupIndex>& groups = levels[level];
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
  const PlacementTask whole = HandTask(Diamond(), HandCluster(2));
  const CoarseTask coarse(whole, {{0, 0, 0, 1}});  // 10, 20 and 30 us, and 10.
  EXPECT_EQ(coarse.Coarsened(Placement{0, 0, 1, 0}), (Placement{0, 0}));
  EXPECT_EQ(coarse.Coarsened(Placement{0, 1, 1, 1}), (Placement{1, 1}));
}

// Methods that place units leave a group on several devices, some of which may not run all of it.
TEST(CoarseTask, CoarsensOnlyToDevicesThatMayRunTheGroup) {
  int elsewhere = 0;
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 200, .restricted = 0.3});
    const PlacementTask whole = PlacementTask::Make(source.graph, source.cluster, 12);
    const Placement placement = *MakeMethod("heft", {})->Place(whole).placement;
    for (size_t level = 2; level < whole.levels->All().size(); ++level) {
      const CoarseTask coarse(whole, LevelsFrom(whole, level));
      const Placement coarsened = coarse.Coarsened(placement);
      EXPECT_NO_THROW(CheckPlacement(source.graph, source.cluster, coarse.Expanded(coarsened))) << "seed " << seed;
      elsewhere += coarse.Expanded(coarsened) != placement ? 1 : 0;
    }
  }
  EXPECT_GT(elsewhere, 0);
}

// Graphs so large that `auto` begins on a contracted one.
class LargeGraph : public ::testing::Test {
 protected:
  LargeGraph() : source_(Source()), task_(PlacementTask::Make(source_.graph, source_.cluster, 20)) {}

  static RandomTaskSource Source() {
    Rng rng(2);
    return RandomSource(rng, {.max_ops = 9000, .max_devices = 3, .restricted = 0.02, .memory_bytes = int64_t{1} << 50});
  }

  const RandomTaskSource source_;
  const PlacementTask task_;
};

TEST(CoarseSearch, ChangesWhatASearchOfALargeGraphFinds) {
  const std::vector<OpGraph> graphs =
      GenerateFamily({.family = "ptb", .count = 1, .train = 1}, LoadDeviceKinds(DefaultKindsFolder())).graphs;
  const Cluster cluster = K80Cluster(4);
  const PlacementTask task = PlacementTask::Make(graphs.front(), cluster, 20);
  constexpr PassPlan kPass = {.most_groups = 1 << 30, .mix = {}, .hot = 0.002, .cold = 0.0001};
  SearchPlan plan = {.passes = {&kPass, 1}, .found_by = "search", .ordered = &kPass};
  const MethodOptions options{.budget = 400, .seed = 1};
  const MethodResult without = SearchFromPortfolio(task, options, plan);
  plan.coarse = &kPass;
  EXPECT_NE(SearchFromPortfolio(task, options, plan).placement, without.placement);
}

TEST_F(LargeGraph, GivesTheSameWithAnyNumberOfThreads) {
  const MethodResult alone = AutoMethod({.budget = 1000, .seed = 1}).Place(task_);
  const MethodResult together = AutoMethod({.budget = 1000, .seed = 1, .threads = 3}).Place(task_);
  EXPECT_EQ(alone.placement, together.placement);
  EXPECT_EQ(alone.orders, together.orders);
  EXPECT_EQ(alone.evaluations, together.evaluations);
}

TEST_F(LargeGraph, KeepsWithinAnyBudgetAndIsLegal) {
  for (const int64_t budget : {1, 10, 30, 60, 90, 100, 120, 150, 200, 400}) {
    const MethodResult result = AutoMethod({.budget = budget, .seed = 1}).Place(task_);
    EXPECT_TRUE(result.evaluations <= budget || task_.single_device < 0) << result.evaluations << " of " << budget;
    EXPECT_NO_THROW(CheckPlacement(source_.graph, source_.cluster, *result.placement));
  }
}

}  // namespace
}  // namespace emplace
