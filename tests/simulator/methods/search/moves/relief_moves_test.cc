#include "simulator/methods/search/moves/relief_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simulator/methods/search/trial_evaluator.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

PlacementTask TaskOf(uint64_t seed, Rng& rng) {
  return RandomTask(
      rng, {.max_ops = 120, .parameters = 20, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
}

// The ops of a level's group that are on one device go to another, where all of them may run, and one of them is of the
// chain. The same numbers draw the same move.
TEST(ReliefMoves, AreLegalMovesOfTheChain) {
  int moves = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = TaskOf(seed, rng);
    const SearchSpace space(task);
    if (!space.any()) continue;
    const ScheduleGraph graph(task);
    ReliefMoves reliefs(space, graph);
    TrialEvaluator evaluator(task);
    const Placement base = RandomGroupPlacement(task, rng);
    evaluator.SetBase(base, nullptr);
    reliefs.SetBase(evaluator.timeline());
    const std::span<const OpIndex> waiting = reliefs.Chain(base);
    const std::set<OpIndex> chain(waiting.begin(), waiting.end());
    for (uint64_t step = 0; step < 20; ++step) {
      Move move;
      Rng first = Rng(seed).Fork("move", step);
      reliefs.Draw(first, base, move);
      Move again;
      Rng second = Rng(seed).Fork("move", step);
      reliefs.Draw(second, base, again);
      ASSERT_EQ(move.size(), again.size());
      if (move.empty()) continue;
      ++moves;
      std::set<OpIndex> ops;
      for (size_t i = 0; i < move.size(); ++i) {
        ASSERT_TRUE(move[i].op == again[i].op && move[i].device == again[i].device);
        ASSERT_TRUE(ops.insert(move[i].op).second);
        ASSERT_EQ(move[i].device, move[0].device);
        ASSERT_EQ(base[static_cast<size_t>(move[i].op)], base[static_cast<size_t>(move[0].op)]);
        ASSERT_NE(base[static_cast<size_t>(move[i].op)], move[i].device);
        ASSERT_TRUE(task.sim.MayRun(move[i].op, move[i].device));
      }
      ASSERT_TRUE(std::ranges::any_of(ops, [&](OpIndex op) { return chain.contains(op); }));
      ASSERT_TRUE(std::ranges::any_of(space.levels(), [&](const SearchLevel& level) {
        const auto row = level.ops.Row(level.group_of_op[static_cast<size_t>(move[0].op)]);
        return std::ranges::all_of(ops, [&](OpIndex op) { return std::ranges::find(row, op) != row.end(); });
      }));
    }
  }
  EXPECT_GT(moves, static_cast<int>(Trials(100)));
}

// Found anew from the run alone: an op of the chain starts as soon as its device has ended another op, and overhead.
TEST(ReliefMoves, OpsOfTheChainWaitForTheirDevice) {
  size_t ops = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = TaskOf(seed, rng);
    const SearchSpace space(task);
    const ScheduleGraph graph(task);
    ReliefMoves reliefs(space, graph);
    Simulator simulator(task.sim);
    const Placement base = RandomGroupPlacement(task, rng);
    const Timeline run = simulator.Run(base);
    reliefs.SetBase(run);
    double after_us = run.makespan_us;
    for (const OpIndex op : reliefs.Chain(base)) {
      const auto o = static_cast<size_t>(op);
      EXPECT_LE(run.finish_us[o], after_us + 1e-6) << "seed " << seed;  // From the end back.
      after_us = run.start_us[o];
      bool waits = false;
      for (size_t other = 0; other < base.size(); ++other) {
        waits = waits || (other != o && base[other] == base[o] && run.finish_us[other] > run.start_us[other] &&
                          std::abs(run.finish_us[other] + task.sim.op_overhead_us - run.start_us[o]) < 1e-5);
      }
      EXPECT_TRUE(waits) << "seed " << seed << " op " << op;
      ++ops;
    }
  }
  EXPECT_GT(ops, Trials(100));
}

// Two of three devices are busy all the time: ops go to the idle one, most often.
TEST(ReliefMoves, GoToTheDeviceThatIsLessBusy) {
  std::vector<Op> ops;
  for (int o = 0; o < 10; ++o) ops.push_back(HandOp("op" + std::to_string(o), 10, {}));
  const PlacementTask task = HandTask(ops, HandCluster(3));
  const SearchSpace space(task);
  const ScheduleGraph graph(task);
  ReliefMoves reliefs(space, graph);
  TrialEvaluator evaluator(task);
  const Placement base = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  ASSERT_EQ(evaluator.SetBase(base, nullptr).makespan_us, 50);
  reliefs.SetBase(evaluator.timeline());
  EXPECT_EQ(reliefs.Chain(base).size(), 4U);  // The first one waits for nothing.
  int to_idle = 0;
  int moves = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    Rng rng(step);
    Move move;
    reliefs.Draw(rng, base, move);
    if (move.empty()) continue;
    ++moves;
    ASSERT_EQ(base[static_cast<size_t>(move[0].op)], 0);
    to_idle += move[0].device == 2 ? 1 : 0;
  }
  EXPECT_GT(moves, 150);
  EXPECT_GT(to_idle, moves * 3 / 4);
}

// A long op at the end: all others started in the first 256th of the run.
TEST(ReliefMoves, TheChainGoesThroughManyOpsOfAShortTime) {
  std::vector<Op> ops;
  for (int o = 0; o < 300; ++o) ops.push_back(HandOp("op" + std::to_string(o), 1, {}));
  ops.push_back(HandOp("long", 1e6, {299}));
  const PlacementTask task = HandTask(ops, HandCluster(2));
  const SearchSpace space(task);
  const ScheduleGraph graph(task);
  ReliefMoves reliefs(space, graph);
  TrialEvaluator evaluator(task);
  const Placement base(ops.size(), 0);
  evaluator.SetBase(base, nullptr);
  reliefs.SetBase(evaluator.timeline());
  EXPECT_EQ(reliefs.Chain(base).size(), 300U);  // All but the first.
}

}  // namespace
}  // namespace emplace
