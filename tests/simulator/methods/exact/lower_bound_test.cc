#include "simulator/methods/exact/lower_bound.h"

#include <gtest/gtest.h>

#include "simulator/methods/exact/optimal_method.h"
#include "simulator/methods/max_load.h"
#include "simulator/methods/placement_scorer.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Thousands of tiny graphs, on devices of like and unlike kinds, some short of memory.
TEST(LowerBound, NoPlacementThatFitsIsBetter) {
  int tasks = 0;
  double gap = 0;
  for (uint64_t seed = 0; seed < Trials(4000); ++seed) {
    Rng rng(seed);
    const bool by_op = seed % 2 == 0;  // Else `optimal` keeps chains together.
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 9,
                                                       .max_devices = 3,
                                                       .restricted = by_op ? 0 : 0.1,
                                                       .link_model = static_cast<LinkModel>(seed / 2 % 3)});
    const PlacementTask task = by_op ? HandTask(source.graph.ops(), source.cluster)
                                     : PlacementTask::Make(source.graph, source.cluster, source.graph.num_ops());
    const MethodResult optimal = OptimalMethod({}).Place(task);
    const SearchScore best = PlacementScorer(task).Score(*optimal.placement);
    if (best.bytes_over > 0 || best.makespan_us == 0) continue;
    const double bound_us = LowerBoundUs(task.sim);
    EXPECT_LE(bound_us, best.makespan_us) << seed;
    gap += best.makespan_us / bound_us;
    ++tasks;
  }
  EXPECT_GT(tasks, Trials(1000));
  RecordProperty("mean_optimum_over_bound", std::to_string(gap / tasks));
}

TEST(LowerBound, KnowsWhatAChainTakesThatDoesNotFitTheFastDevice) {
  // Six ops one after the other; the fast device has room for two, and those save 90 us each.
  Cluster cluster = HandCluster(2);
  cluster.devices[0].memory_bytes = 200;
  cluster.devices[1].kind = "slow";
  std::vector<Op> ops;
  for (OpIndex o = 0; o < 6; ++o) {
    ops.push_back(
        HandOp("op" + std::to_string(o), 0, o == 0 ? std::vector<OpIndex>() : std::vector<OpIndex>{o - 1}, 0));
    ops.back().cost = OpCost::ByKind({{"x", 10}, {"slow", 100}});
    ops.back().param_bytes = 100;
  }
  EXPECT_NEAR(LowerBoundUs(HandTask(ops, cluster).sim), 2 * 10 + 4 * 100, 1);
}

TEST(LowerBound, IsThatOfTheWorkWhereNothingFits) {
  // Two ops that only the first device may run, and for which it lacks 20 bytes; the second has room for more than all.
  Cluster cluster = HandCluster(2);
  cluster.devices[0].memory_bytes = 100;
  cluster.devices[1].kind = "y";
  std::vector<Op> ops = {HandOp("a", 0, {}, 1), HandOp("b", 0, {0}, 1), HandOp("c", 0, {1}, 1)};
  for (Op& op : ops) {
    op.cost = OpCost::ByKind({{op.name == "c" ? "y" : "x", 10}});
    op.param_bytes = 60;
  }
  const SimGraph graph = HandTask(ops, cluster).sim;
  EXPECT_NEAR(LowerBoundUs(graph), 30, 0.2);
  EXPECT_NEAR(LoadBoundUs(graph), 20, 0.2);
}

TEST(LowerBound, NoBusiestDeviceHasLessToDo) {
  for (uint64_t seed = 0; seed < Trials(1000); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 7, .max_devices = 3});
    const PlacementTask task = HandTask(source.graph.ops(), source.cluster);
    const double bound_us = LoadBoundUs(task.sim);
    PlacementScorer scorer(task);
    Placement placement(source.graph.ops().size(), 0);
    while (true) {  // All of them, counted up like numbers.
      if (scorer.Score(placement).bytes_over == 0) {
        ASSERT_GE(MaxLoadUs(task.sim, placement), bound_us) << seed;
      }
      size_t o = 0;
      while (o < placement.size() && ++placement[o] == task.sim.num_devices) placement[o++] = 0;
      if (o == placement.size()) break;
    }
  }
}

TEST(LowerBound, IsTheWorkSharedOutEvenly) {
  std::vector<Op> ops;
  for (int o = 0; o < 8; ++o) ops.push_back(HandOp("op" + std::to_string(o), 10, {}));
  EXPECT_NEAR(LowerBoundUs(HandTask(ops, HandCluster(4)).sim), 20, 1e-6);
}

TEST(LowerBound, IsTheLongestPath) {
  std::vector<Op> ops;
  for (int o = 0; o < 8; ++o)
    ops.push_back(HandOp("op" + std::to_string(o), 10, o == 0 ? std::vector<OpIndex>{} : std::vector<OpIndex>{o - 1}));
  EXPECT_NEAR(LowerBoundUs(HandTask(ops, HandCluster(4)).sim), 80, 1e-6);
}

TEST(LowerBound, KnowsThatWorkBetweenTwoPathsIsNotShared) {
  // A first op of 10, eight ops of 10 behind it, a last op behind those: 10 + 8 * 10 / 4 + 10.
  std::vector<Op> ops = {HandOp("first", 10, {})};
  std::vector<OpIndex> middle;
  for (int o = 1; o <= 8; ++o) {
    ops.push_back(HandOp("op" + std::to_string(o), 10, {0}));
    middle.push_back(o);
  }
  ops.push_back(HandOp("last", 10, middle));
  EXPECT_NEAR(LowerBoundUs(HandTask(ops, HandCluster(4)).sim), 40, 1e-6);
}

TEST(LowerBound, KnowsThatDevicesWaitWhereEverythingGoesThroughOneOp) {
  // Eight ops of 10, then one of 10 that reads them, a second one behind it, and eight that read that one:
  // 8 * 10 / 4 + 10 + 10 + 8 * 10 / 4. All work shared out evenly is 45.
  std::vector<Op> ops;
  std::vector<OpIndex> first;
  for (int o = 0; o < 8; ++o) {
    ops.push_back(HandOp("before" + std::to_string(o), 10, {}));
    first.push_back(o);
  }
  ops.push_back(HandOp("loss", 10, first));
  ops.push_back(HandOp("gradient", 10, {8}));
  for (int o = 0; o < 8; ++o) ops.push_back(HandOp("after" + std::to_string(o), 10, {9}));
  EXPECT_NEAR(LowerBoundUs(HandTask(ops, HandCluster(4)).sim), 60, 1e-6);
}

}  // namespace
}  // namespace emplace
