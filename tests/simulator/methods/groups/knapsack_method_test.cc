#include "simulator/methods/groups/knapsack_method.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/rng.h"
#include "simulator/methods/placement_scorer.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// A fast device with so much memory, and a slow one with enough, whose links cost nothing.
Cluster FastAndSlow(int64_t fast_bytes) {
  Cluster cluster = HandCluster(2);
  cluster.devices[0].memory_bytes = fast_bytes;
  cluster.devices[1].kind = "slow";
  cluster.bandwidth_bytes_per_us = 1e9;
  return cluster;
}

Op HeldOp(const std::string& name, double fast_us, double slow_us, int64_t bytes, const std::vector<OpIndex>& inputs) {
  Op op = HandOp(name, 0, inputs, 0);
  op.cost = OpCost::ByKind({{"x", fast_us}, {"slow", slow_us}});
  op.param_bytes = bytes;
  return op;
}

TEST(Knapsack, WhatSavesMostForEachByteIsOnTheFastDevice) {
  // For each byte the ops save 1, 9, 2 and 5 us; two go in.
  const PlacementTask task = HandTask({HeldOp("a", 10, 110, 100, {}), HeldOp("b", 10, 910, 100, {0}),
                                       HeldOp("c", 10, 210, 100, {1}), HeldOp("d", 10, 510, 100, {2})},
                                      FastAndSlow(250));
  const MethodResult result = KnapsackMethod({}).Place(task);
  EXPECT_EQ(result.placement, (Placement{1, 0, 1, 0}));
  EXPECT_EQ(result.score->bytes_over, 0);
  EXPECT_DOUBLE_EQ(result.score->makespan_us, 110 + 10 + 210 + 10);
}

TEST(Knapsack, WhatOneDeviceAloneMayRunGoesThere) {
  std::vector<Op> ops = {HeldOp("a", 10, 20, 100, {}), HeldOp("b", 10, 1000, 100, {0})};
  ops[0].allowed = {"x"};
  const MethodResult result = KnapsackMethod({}).Place(HandTask(ops, FastAndSlow(150)));
  EXPECT_EQ(result.placement, (Placement{0, 1}));
}

TEST(Knapsack, TheOthersAreFilledOneAfterTheOther) {
  Cluster cluster = HandCluster(3);
  cluster.devices[0].memory_bytes = cluster.devices[1].memory_bytes = 250;
  cluster.devices[2].kind = "slow";
  std::vector<Op> ops;
  for (OpIndex o = 0; o < 6; ++o) {
    ops.push_back(
        HeldOp("op" + std::to_string(o), 10, 100, 100, o == 0 ? std::vector<OpIndex>() : std::vector<OpIndex>{o - 1}));
    ops.back().outputs[0].bytes = 10;
  }
  const MethodResult result = KnapsackMethod({}).Place(HandTask(ops, cluster));
  ASSERT_TRUE(result.placement);
  // Four of six are on two devices, each with neighbours.
  const Placement& placement = *result.placement;
  EXPECT_EQ(std::ranges::count(placement, 2), 2);
  int changes = 0;
  for (size_t o = 1; o < placement.size(); ++o) changes += placement[o] != placement[o - 1];
  EXPECT_EQ(changes, 2);
}

TEST(Knapsack, AFewBytesTooManyAreOneOpLess) {
  // Ten ops of 95 bytes have room, but for 10 of the 60 bytes that each needs while it runs.
  std::vector<Op> ops;
  for (OpIndex o = 0; o < 10; ++o) {
    ops.push_back(
        HeldOp("op" + std::to_string(o), 10, 100, 95, o == 0 ? std::vector<OpIndex>() : std::vector<OpIndex>{o - 1}));
    ops.back().temp_bytes = 60;
  }
  const MethodResult result = KnapsackMethod({}).Place(HandTask(ops, FastAndSlow(1000)));
  ASSERT_TRUE(result.placement);
  EXPECT_EQ(std::ranges::count(*result.placement, 0), 9);
  EXPECT_EQ(result.score->bytes_over, 0);
}

TEST(Knapsack, WhatItFindsFitsWhereTheSlowDeviceHasRoomForAll) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops;
    for (OpIndex o = 0; o < rng.UniformInt(1, 20); ++o) {
      std::vector<OpIndex> inputs;
      if (o > 0) inputs.push_back(static_cast<OpIndex>(rng.UniformInt(0, o - 1)));
      const auto us = static_cast<double>(rng.UniformInt(1, 50));
      ops.push_back(HeldOp("op" + std::to_string(o), us, us * static_cast<double>(rng.UniformInt(1, 20)),
                           rng.UniformInt(0, 300), inputs));
      ops.back().outputs[0].bytes = rng.UniformInt(0, 50);
    }
    const PlacementTask task = HandTask(ops, FastAndSlow(rng.UniformInt(100, 2000)));
    const MethodResult result = KnapsackMethod({}).Place(task);
    ASSERT_TRUE(result.placement);
    ASSERT_EQ(PlacementScorer(task).Score(*result.placement), *result.score) << "seed " << seed;
    ASSERT_EQ(result.score->bytes_over, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace emplace
