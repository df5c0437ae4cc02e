#include "simulator/methods/search/moves/move_generator.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Moves of all kinds, on every level: each op goes to a device where it may run, and is listed once.
TEST(MoveGenerator, DrawsLegalMoves) {
  int moves = 0;
  int levels_with_families = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 120, .parameters = 20, .restricted = 0.1});
    const SearchSpace space(task, /*with_columns=*/true);
    if (!space.any()) continue;
    for (const SearchLevel& level : space.levels()) levels_with_families += static_cast<int>(!level.families.empty());
    MoveGenerator generator(space);
    const Placement placement = RandomGroupPlacement(task, rng);
    for (int step = 0; step < 50; ++step) {
      Move move;
      const auto level = static_cast<size_t>(rng.UniformInt(0, std::ssize(space.levels()) - 1));
      generator.Draw(rng, level, {.family = 0.3, .neighbours = 0.3, .swap = 0.3, .column = 0.8}, placement, move);
      std::set<OpIndex> ops;
      for (const OpMove& to : move) {
        ASSERT_TRUE(ops.insert(to.op).second);
        ASSERT_NE(to.device, placement[static_cast<size_t>(to.op)]);
        ASSERT_TRUE(task.sim.MayRun(to.op, to.device));
        ++moves;
      }
    }
  }
  EXPECT_GT(moves, static_cast<int>(10 * Trials(100)));
  EXPECT_GT(levels_with_families, static_cast<int>(Trials(100)));
}

// A parameter with two readers, one of which is elsewhere; and an op that reads something else.
TEST(MoveGenerator, MovesAFamilyThatIsOnOneDevice) {
  const PlacementTask task =
      HandTask({HandOp("parameter", 0, {}), HandOp("forward", 10, {0}), HandOp("between", 10, {1}),
                HandOp("backward", 10, {0, 2}), HandOp("elsewhere", 10, {0, 3})},
               HandCluster(2));
  const SearchSpace space(task);
  ASSERT_EQ(space.levels()[0].num_groups(), 5);
  ASSERT_EQ(space.levels()[0].families.size(), 1u);
  MoveGenerator generator(space);
  const Placement placement = {0, 0, 0, 0, 1};
  int first = 0;
  int other = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    Move move;
    generator.Draw(rng, 0, {.family = 1}, placement, move);
    std::set<OpIndex> ops;
    for (const OpMove& to : move) ops.insert(to.op);
    if (ops == std::set<OpIndex>{0, 1, 3}) {
      ++first;
    } else {
      EXPECT_EQ(ops, std::set<OpIndex>{4});
      ++other;
    }
  }
  EXPECT_GT(first, 50);
  EXPECT_GT(other, 5);
}

}  // namespace
}  // namespace emplace
