#include "simulator/methods/exact/lower_bound.h"

#include <gtest/gtest.h>

#include "simulator/methods/exact/optimal_method.h"
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

}  // namespace
}  // namespace emplace
