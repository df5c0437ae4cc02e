#include "simulator/engine/free_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/graph/placement.h"
#include "tests/support/make_op.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;

Cluster PairOfDevices() {
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000000}, {"d:1", "y", 1000000}};
  cluster.bandwidth_bytes_per_us = 100;
  return cluster;
}

TEST(FreeSources, CostAndReadNothingAndTakeTimeToSend) {
  Op only_on_x = MakeOp("only on x", OpCost::ByKind({{"x", 0}}), {}, {100});
  only_on_x.allowed = {"x"};
  const OpGraph graph(
      "g", {MakeOp("free", 0, {}, {100}), MakeOp("costs", 1, {}, {100}),
            MakeOp("costs on y", OpCost::ByKind({{"x", 0}, {"y", 1}}), {}, {100}), MakeOp("sends nothing", 0, {}, {0}),
            MakeOp("signals", 0, {}, {100}), MakeOp("reads", 0, {{0, 0}}, {100}), only_on_x,
            MakeOp("last", 1, {{1, 0}, {2, 0}, {3, 0}, {4, OpInput::kControl}, {5, 0}, {6, 0}}, {})});
  EXPECT_THAT(FreeSources(SimGraph::Compile(graph, PairOfDevices())), ElementsAre(1, 0, 0, 0, 0, 0, 1, 0));
}

// A chain of 1,000 ops on one device, each with a parameter.
struct Chain {
  static constexpr int32_t kLength = 1000;

  Chain() {
    std::vector<Op> ops;
    for (int32_t i = 0; i < kLength; ++i) ops.push_back(MakeOp("parameter" + std::to_string(i), 0, {}, {100}));
    for (int32_t i = 0; i < kLength; ++i) {
      ops.push_back(MakeOp("op" + std::to_string(i), 10, {{i, 0}}, {100}));
      if (i > 0) ops.back().inputs.push_back({kLength + i - 1, 0});
    }
    sim = SimGraph::Compile(OpGraph("chain", std::move(ops)), PairOfDevices());
    placement.assign(static_cast<size_t>(sim.num_ops), 0);
  }
  SimGraph sim;
  Placement placement;
};

// An op that moves together with its parameter is simulated from there on. If it moves alone, its parameter is sent at
// time 0.
TEST(FreeSources, MoveWithTheirReadersWithoutASimulationFromTheStart) {
  Chain chain;
  for (const bool by_priority : {false, true}) {
    Simulator simulator(chain.sim);
    if (by_priority) {
      std::vector<OpIndex> priority(static_cast<size_t>(chain.sim.num_ops));
      std::iota(priority.begin(), priority.end(), 0);
      simulator.SetPriority(priority);
    }
    EXPECT_EQ(simulator.SetBase(chain.placement), 10.0 * Chain::kLength);
    const OpIndex parameter = Chain::kLength - 10;
    const OpIndex op = parameter + Chain::kLength;
    Placement moved = chain.placement;
    moved[static_cast<size_t>(op)] = 1;
    // Its input comes 1 us later than before, and what it sends.
    EXPECT_EQ(simulator.Try(moved, std::vector<OpIndex>{op}, 1e9, GiveUp::kWhenCertain), 10.0 * Chain::kLength + 2);
    EXPECT_GT(simulator.events(), 900u);
    moved[static_cast<size_t>(parameter)] = 1;
    EXPECT_EQ(simulator.Try(moved, std::vector<OpIndex>{op, parameter}, 1e9, GiveUp::kWhenCertain),
              10.0 * Chain::kLength + 2);
    EXPECT_LT(simulator.events(), 100u);
  }
}

// Enough ops for a snapshot end at time 0 on the first device, while the second one's parameter has yet to end. None is
// taken then, for a run that began from it would have that parameter twice.
TEST(FreeSources, HaveEndedInEverySnapshot) {
  std::vector<Op> ops = {MakeOp("parameter 0", 0, {}, {100}), MakeOp("parameter 1", 0, {}, {100})};
  ops.push_back(MakeOp("a", 10, {{1, 0}}, {100}));
  ops.push_back(MakeOp("b", 10, {{2, 0}}, {100}));
  for (OpIndex input = 0; ops.size() < 300; input = static_cast<OpIndex>(ops.size()) - 1)
    ops.push_back(MakeOp("chain" + std::to_string(ops.size()), 0, {{input, 0}}, {100}));
  const SimGraph sim = SimGraph::Compile(OpGraph("g", ops), PairOfDevices());
  Placement placement(ops.size(), 0);
  placement[1] = placement[2] = placement[3] = 1;
  Simulator simulator(sim);
  EXPECT_EQ(simulator.SetBase(placement), 20);
  placement[3] = 0;
  EXPECT_EQ(simulator.Try(placement, std::vector<OpIndex>{3}, 100, GiveUp::kWhenCertain), 21);
  EXPECT_EQ(Simulator(sim).Makespan(placement), 21);
}

}  // namespace
}  // namespace emplace
