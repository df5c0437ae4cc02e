// Runs in which devices have an order: against the second simulator, and cases worked out by hand.
#include "simulator/graph/device_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/engine/simulator.h"
#include "simulator/graph/placement.h"
#include "tests/support/bad_input.h"
#include "tests/support/event_queue_oracle.h"
#include "tests/support/link_rules.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Op Node(const std::string& name, double cost_us, const std::vector<OpIndex>& inputs, int64_t bytes = 0) {
  Op op;
  op.name = name;
  op.cost = OpCost::Everywhere(cost_us);
  for (const OpIndex input : inputs) op.inputs.push_back({input, 0});
  op.outputs = {{.bytes = bytes, .shape = {}, .dtype = ""}};
  return op;
}

// Without overheads, 100 bytes a us.
Cluster Devices(int count) {
  Cluster cluster;
  for (int d = 0; d < count; ++d) cluster.devices.push_back({"d:" + std::to_string(d), "x", 1000000});
  cluster.bandwidth_bytes_per_us = 100;
  return cluster;
}

Timeline RunInOrder(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                    const DeviceOrders& orders) {
  CheckOrders(graph, cluster, placement, orders);
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  return Simulator(sim, orders).Run(placement);
}

TEST(DeviceOrder, ADeviceIdlesUntilTheNextOpOfItsOrderIsReady) {
  // a takes 0..10 on d:0, and its 1000 bytes 10..20. d:1 could run c at 0, but has to run b before: 20..25, c 25..28.
  const OpGraph graph("g", {Node("a", 10, {}, 1000), Node("b", 5, {0}), Node("c", 3, {})});
  const Timeline run = RunInOrder(graph, Devices(2), {0, 1, 1}, {{}, {1, 2}});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 20, 25}));
  EXPECT_EQ(run.makespan_us, 28);
  EXPECT_EQ(RunInOrder(graph, Devices(2), {0, 1, 1}, {{0}, {2, 1}}).start_us, (std::vector<double>{0, 20, 0}));
}

TEST(DeviceOrder, OverheadsCountBetweenOpsOfAnOrder) {
  // b 0..5, busy until 7; a 7..17, busy until 19.
  Cluster cluster = Devices(1);
  cluster.op_overhead_us = 2;
  const Timeline run = RunInOrder(OpGraph("g", {Node("a", 10, {}), Node("b", 5, {})}), cluster, {0, 0}, {{1, 0}});
  EXPECT_EQ(run.start_us, (std::vector<double>{7, 0}));
  EXPECT_EQ(run.makespan_us, 19);
}

TEST(DeviceOrder, BackwardBeforeTheNextForwardHoldsFewerActivations) {
  // Two micro-batches on one device, f (10 us, 1000 bytes) then g (10 us): by arrival f0 f1 g0 g1 hold two outputs of
  // f, f0 g0 f1 g1 one at a time. g holds nothing.
  const OpGraph graph("g",
                      {Node("f0", 10, {}, 1000), Node("f1", 10, {}, 1000), Node("g0", 10, {0}), Node("g1", 10, {1})});
  EXPECT_EQ(RunInOrder(graph, Devices(1), {0, 0, 0, 0}, {}).peak_bytes, (std::vector<int64_t>{2000}));
  const Timeline run = RunInOrder(graph, Devices(1), {0, 0, 0, 0}, {{0, 2, 1, 3}});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 20, 10, 30}));
  EXPECT_EQ(run.peak_bytes, (std::vector<int64_t>{1000}));
}

class OrderOnEveryLinkModel : public ::testing::TestWithParam<LinkRules> {};
INSTANTIATE_TEST_SUITE_P(DeviceOrder, OrderOnEveryLinkModel, ::testing::ValuesIn(kEveryLinkRules),
                         [](const auto& tested) { return LinkRulesName(tested.param); });

TEST_P(OrderOnEveryLinkModel, RandomOrdersRunAsInTheOracle) {
  for (uint64_t seed = 0; seed < Trials(1200); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{.max_ops = seed % 10 == 0 ? 120 : 30,
                                     .max_devices = 5,
                                     .link_model = GetParam().model,
                                     .blocking = GetParam().blocking};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const DeviceOrders orders = RandomOrders(rng, graph, cluster, placement);
    const OracleRun expected = SimulateByEventQueue(graph, cluster, placement, orders);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    Simulator simulator(sim, orders);
    const Timeline& run = simulator.Run(placement);
    ASSERT_NEAR(run.makespan_us, expected.makespan_us, 1e-9) << "seed " << seed;
    for (size_t o = 0; o < placement.size(); ++o) {
      ASSERT_NEAR(run.start_us[o], expected.start_us[o], 1e-9) << "seed " << seed << " op " << o;
    }
    ASSERT_EQ(run.peak_bytes, expected.peak_bytes) << "seed " << seed;
    ASSERT_EQ(run.transfers.size(), expected.transfers) << "seed " << seed;
    const DeviceOrders started = simulator.StartOrders();
    for (size_t d = 0; d < orders.size(); ++d) {
      ASSERT_TRUE(orders[d].empty() || started[d] == orders[d]) << "seed " << seed;
    }
  }
}

TEST_P(OrderOnEveryLinkModel, TheOrderOfArrivalChangesNothing) {
  for (uint64_t seed = 0; seed < Trials(600); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{.max_ops = 60, .link_model = GetParam().model, .blocking = GetParam().blocking};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    Simulator by_arrival(sim);
    const Timeline& expected = by_arrival.Run(placement);
    const DeviceOrders orders = by_arrival.StartOrders();
    CheckOrders(graph, cluster, placement, orders);
    Simulator in_order(sim, orders);
    const Timeline& run = in_order.Run(placement);
    ASSERT_EQ(run.makespan_us, expected.makespan_us) << "seed " << seed;
    ASSERT_EQ(run.start_us, expected.start_us) << "seed " << seed;
    ASSERT_EQ(run.peak_bytes, expected.peak_bytes) << "seed " << seed;
  }
}

// What a Simulator takes over from the call before shows in no result either when some devices have an order, whose ops
// stay, while the ops of the others move.
TEST_P(OrderOnEveryLinkModel, RunsAreReusedAsWithoutOrders) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{
        .max_ops = 400, .max_devices = 5, .link_model = GetParam().model, .blocking = GetParam().blocking};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    Placement placement = RandomPlacement(rng, graph, cluster);
    DeviceOrders orders = RandomOrders(rng, graph, cluster, placement);
    const size_t free = orders.size() / 2;  // Devices before this one have no order.
    for (size_t d = 0; d < free; ++d) orders[d].clear();
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    Simulator simulator(sim, orders);
    for (int step = 0; step < 10; ++step) {
      ASSERT_EQ(simulator.Makespan(placement), Simulator(sim, orders).Makespan(placement)) << "seed " << seed;
      for (DeviceIndex& device : placement) {
        if (static_cast<size_t>(device) >= free || rng.UniformInt(0, 9) > 0) continue;
        device = static_cast<DeviceIndex>(rng.UniformInt(0, static_cast<int64_t>(free) - 1));
      }
    }
  }
}

TEST(DeviceOrder, WhatIsNoOrderOfTheGraphIsRefused) {
  // a -> b on d:0 and d:1; c and d alone on d:0 and d:1.
  const OpGraph graph("g", {Node("a", 1, {}), Node("b", 1, {0}), Node("c", 1, {1}), Node("d", 1, {})});
  const auto error_of = [&](const DeviceOrders& orders) {
    return BadInputOf([&] { CheckOrders(graph, Devices(2), Placement{0, 1, 0, 1}, orders); }, "order");
  };
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of({{}, {}}), "");
  EXPECT_EQ(error_of({{0, 2}, {3, 1}}), "");
  EXPECT_EQ(error_of({{}, {1, 3}}), "");
  EXPECT_THAT(error_of({{0}, {}}), HasSubstr("order of 'd:0': op 'c' is missing"));
  EXPECT_THAT(error_of({{0, 2, 0}, {}}), HasSubstr("order of 'd:0': op 'a' comes twice"));
  EXPECT_THAT(error_of({{}, {3, 1, 2}}), HasSubstr("order of 'd:1': op 'c' is on 'd:0'"));
  EXPECT_THAT(error_of({{0, 4}, {}}), HasSubstr("order of 'd:0': there is no op 4, expected 0 to 3"));
  EXPECT_THAT(error_of({{-1}, {}}), HasSubstr("there is no op -1, expected 0 to 3"));
  EXPECT_THAT(error_of({{0, 2}}), HasSubstr("there are orders for 1 devices, expected one for each of 2"));
  // c waits for b, b for a, and a for c.
  EXPECT_THAT(error_of({{2, 0}, {3, 1}}),
              AllOf(HasSubstr("no device could go on"), HasSubstr("'a' -> 'b' -> 'c' -> 'a'")));
}

TEST(DeviceOrder, ADeadlockBetweenDevicesIsRefused) {
  // Two ops on each device, a -> x and b -> y: x before b on d:1 would do, were a not after y on d:0.
  const OpGraph graph("g", {Node("a", 1, {}), Node("b", 1, {}), Node("x", 1, {0}), Node("y", 1, {1})});
  EXPECT_THAT(BadInputOf(
                  [&] {
                    CheckOrders(graph, Devices(2), Placement{0, 1, 1, 0}, {{3, 0}, {2, 1}});
                  },
                  "order"),
              HasSubstr("'a' -> 'x' -> 'b' -> 'y' -> 'a'"));
}

}  // namespace
}  // namespace emplace
