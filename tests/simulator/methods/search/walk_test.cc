#include "simulator/methods/search/walk.h"

#include <gtest/gtest.h>

#include "simulator/methods/placement_scorer.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

class WalkScores : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Queues, WalkScores, ::testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "ByPriority" : "ByArrival"; });

// The best score is that of the best placement with its priority, and no worse than that of the start.
TEST_P(WalkScores, AreThoseOfTheBestPlacement) {
  int priorities = 0;  // That are not those of the placement's own ranks.
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const PlacementTask task =
        RandomTask(rng, {.max_ops = 120, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    const SearchSpace space(task);
    if (!space.any()) continue;
    const ScheduleGraph graph(task);
    SearchLimit limit(1200, 0, nullptr);
    ThreadTeam team(static_cast<int>(1 + seed % 3));
    Walk walk(space, limit, team, seed, GetParam() ? &graph : nullptr);
    walk.Start(RandomGroupPlacement(task, rng));
    const SearchScore first = walk.best_score();
    walk.Run({.level = 0, .mix = {.neighbours = 0.1, .swap = 0.1}, .hot = 0.02, .cold = 0.0002, .until = 0.5});
    walk.ReturnToBest();
    walk.Run({.level = 0, .mix = {}, .hot = 0.002, .cold = 0.0002, .until = 1});
    EXPECT_EQ(limit.evaluations(), 1200);
    EXPECT_LE(walk.best_score(), first);
    ASSERT_EQ(walk.best_priority() != nullptr, GetParam());
    DeviceOrders orders;
    if (GetParam()) {
      orders = OrdersUnder(*walk.best_priority(), task.sim, walk.best());
      priorities += static_cast<int>(*walk.best_priority() != PriorityByRank(graph, walk.best()));
    }
    EXPECT_EQ(walk.best_score(), PlacementScorer(task, orders).Score(walk.best()));
  }
  EXPECT_EQ(priorities > 0, GetParam());
}

// Over several priorities, which come after fixed numbers of moves.
TEST_P(WalkScores, DoNotDependOnThreads) {
  for (uint64_t seed = 0; seed < Trials(10); ++seed) {
    const auto best = [&](int threads) {
      Rng rng(seed);
      const PlacementTask task = RandomTask(rng, {.max_ops = 120});
      const SearchSpace space(task);
      const ScheduleGraph graph(task);
      SearchLimit limit(1500, 0, nullptr);
      ThreadTeam team(threads);
      Walk walk(space, limit, team, seed, GetParam() ? &graph : nullptr);
      walk.Start(RandomGroupPlacement(task, rng));
      walk.Run({.level = 0, .mix = {.swap = 0.1}, .hot = 0.002, .cold = 0.00002, .until = 1});
      return walk.best();
    };
    const Placement alone = best(1);
    EXPECT_EQ(best(2), alone) << "seed " << seed;
    EXPECT_EQ(best(3), alone) << "seed " << seed;
  }
}

}  // namespace
}  // namespace emplace
