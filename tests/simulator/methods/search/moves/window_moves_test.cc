#include "simulator/methods/search/moves/window_moves.h"

#include <gtest/gtest.h>

#include <set>

#include "simulator/methods/search/trial_evaluator.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Each op goes to a device where it may run, is listed once, and ops that must stay together do. The same numbers draw
// the same move, whatever was drawn between.
TEST(WindowMoves, AreLegalAndDependOnNothingButTheBase) {
  int moves = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(
        rng, {.max_ops = 120, .parameters = 20, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    const SearchSpace space(task);
    if (!space.any()) continue;
    const SearchLevel& units = space.levels().front();
    const ScheduleGraph graph(task);
    WindowMoves windows(space, graph);
    TrialEvaluator evaluator(task);
    const Placement base = RandomGroupPlacement(task, rng);
    evaluator.SetBase(base, nullptr);
    windows.SetBase(evaluator.base(), evaluator.timeline());
    for (uint64_t step = 0; step < 20; ++step) {
      Move move;
      Rng first = Rng(seed).Fork("move", step);
      windows.Draw(first, evaluator.LatestStartsUs(), move);
      Placement moved = base;
      std::set<OpIndex> ops;
      for (const OpMove& to : move) {
        ASSERT_TRUE(ops.insert(to.op).second);
        ASSERT_TRUE(task.sim.MayRun(to.op, to.device));
        ASSERT_NE(to.device, base[static_cast<size_t>(to.op)]);
        moved[static_cast<size_t>(to.op)] = to.device;
        ++moves;
      }
      for (GroupIndex unit = 0; unit < units.num_groups(); ++unit) {
        const auto moves_op = [&](OpIndex op) { return ops.contains(op); };
        const auto row = units.ops.Row(unit);
        ASSERT_TRUE(std::ranges::all_of(row, moves_op) || std::ranges::none_of(row, moves_op)) << "seed " << seed;
      }
      Move other;
      Rng second = Rng(seed).Fork("other", step);
      windows.Draw(second, evaluator.LatestStartsUs(), other);
      Rng again = Rng(seed).Fork("move", step);
      windows.Draw(again, evaluator.LatestStartsUs(), other);
      ASSERT_EQ(move.size(), other.size());
      for (size_t i = 0; i < move.size(); ++i)
        ASSERT_TRUE(move[i].op == other[i].op && move[i].device == other[i].device);
    }
  }
  EXPECT_GT(moves, static_cast<int>(Trials(100)));
}

// Two ops of 10 us that read nothing, with their parameters, on one device: one of each goes to the other.
TEST(WindowMoves, SpreadOpsAndTakeTheirParametersAlong) {
  const PlacementTask task = HandTask({HandOp("p", 0, {}), HandOp("q", 0, {}), HandOp("a", 10, {0}),
                                       HandOp("b", 10, {1}), HandOp("c", 10, {2}), HandOp("d", 10, {3})},
                                      HandCluster(2));
  const SearchSpace space(task);
  const ScheduleGraph graph(task);
  WindowMoves windows(space, graph);
  TrialEvaluator evaluator(task);
  const SearchScore base = evaluator.SetBase(Placement(6, 0), nullptr);
  ASSERT_EQ(base.makespan_us, 40);
  windows.SetBase(evaluator.base(), evaluator.timeline());
  double best_us = base.makespan_us;
  for (uint64_t step = 0; step < 100; ++step) {
    Rng rng(step);
    Move move;
    windows.Draw(rng, evaluator.LatestStartsUs(), move);
    if (const auto score = evaluator.Try(move, base.makespan_us)) best_us = std::min(best_us, score->makespan_us);
  }
  EXPECT_EQ(best_us, 20);
}

}  // namespace
}  // namespace emplace
