#include "simulator/engine/sim_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/error.h"
#include "simulator/engine/simulator.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

TEST(SimGraph, TensorsAreTheOutputsThatSomebodyReads) {
  // a has outputs 0 (read by c, twice), 1 (unread), 2 (read by b), and a control reader, c.
  std::vector<Op> ops(3);
  ops[0].name = "a";
  for (const int64_t bytes : {10, 20, 30}) ops[0].outputs.push_back({.bytes = bytes, .shape = {}, .dtype = ""});
  ops[0].cost = OpCost::ByKind({{"x", 2}, {"y", 3}});
  ops[0].allowed = {"y"};
  ops[1].name = "b";
  ops[1].inputs = {{0, 2}};
  ops[2].name = "c";
  ops[2].inputs = {{0, 0}, {0, 0}, {0, OpInput::kControl}};
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 5}, {"d:1", "y", 6}};
  cluster.bandwidth_bytes_per_us = 1;
  const SimGraph sim = SimGraph::Compile(OpGraph("g", std::move(ops)), cluster);
  EXPECT_EQ(sim.tensor_begin, (std::vector<int32_t>{0, 3, 3, 3}));
  EXPECT_EQ(sim.tensor_bytes, (std::vector<int64_t>{10, 30, 0}));
  EXPECT_EQ(sim.tensor_consumers.begin, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(sim.tensor_consumers.items, (std::vector<int32_t>{2, 1, 2}));
  EXPECT_EQ(sim.num_inputs, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(sim.output_bytes, (std::vector<int64_t>{60, 0, 0}));  // The unread output is held too.
  EXPECT_FALSE(MayRunAt(sim.cost_us[0]));
  EXPECT_EQ(sim.cost_us[1], 3);
}

TEST(SimGraph, MeanBusyTimeAndGroupsLeaveOutDevicesThatMayNotRunTheOp) {
  std::vector<Op> ops(3);
  for (Op& op : ops) op.cost = OpCost::ByKind({{"x", 2}, {"y", 6}});
  ops[0].name = "both";
  ops[1].name = "y_only";
  ops[1].allowed = {"y"};
  ops[2].name = "free";
  ops[2].cost = OpCost::Everywhere(0);
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 5}, {"d:1", "y", 6}};
  cluster.bandwidth_bytes_per_us = 1;
  cluster.op_overhead_us = 1;
  const SimGraph sim = SimGraph::Compile(OpGraph("g", std::move(ops)), cluster);
  EXPECT_EQ(sim.MeanBusyUs(0), 5);
  EXPECT_EQ(sim.MeanBusyUs(1), 7);
  EXPECT_EQ(sim.MeanBusyUs(2), 0);
  EXPECT_EQ(sim.AllowedOf(std::vector<GroupIndex>{0, 1, 1}, 3), (std::vector<uint8_t>{1, 1, 0, 1, 1, 1}));
}

TEST(SimGraph, RefusesTimesThatNoClockCouldShow) {
  std::vector<Op> ops(2);
  ops[0].name = "a";
  ops[0].outputs.push_back({.bytes = 1000, .shape = {}, .dtype = ""});
  ops[1].name = "b";
  ops[1].inputs = {{0, 0}};
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 5}};
  cluster.bandwidth_bytes_per_us = 1e-300;
  EXPECT_THROW(SimGraph::Compile(OpGraph("g", ops), cluster), Error);
  cluster.bandwidth_bytes_per_us = 1;
  cluster.op_overhead_us = 1e300;
  EXPECT_THROW(SimGraph::Compile(OpGraph("g", ops), cluster), Error);
}

// Any one number changed to anything: refused, or a graph that runs to its end.
TEST(SimGraph, WhatPassesValidateCanBeSimulated) {
  int refused = 0;
  int run = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{.max_ops = 10, .link_model = static_cast<LinkModel>(seed % 3)};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    SimGraph sim = SimGraph::Compile(graph, cluster);
    const auto damage = [&rng](auto& values) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      const int64_t what = rng.UniformInt(0, 5);
      if (what == 0) values.push_back(T{});
      if (values.empty()) return;
      if (what == 1) values.pop_back();
      if (values.empty()) return;
      T& value = values[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(values.size()) - 1))];
      if (what == 2) value = static_cast<T>(-1);
      if (what == 3) value = std::numeric_limits<T>::max();
      if (what == 4) value += 1;
      if (what == 5) value = static_cast<T>(rng.UniformInt(0, 12));
    };
    switch (rng.UniformInt(0, 14)) {
      case 0:
        damage(sim.cost_us);
        break;
      case 1:
        damage(sim.tensor_begin);
        break;
      case 2:
        damage(sim.tensor_bytes);
        break;
      case 3:
        damage(sim.tensor_consumers.begin);
        break;
      case 4:
        damage(sim.tensor_consumers.items);
        break;
      case 5:
        damage(sim.num_inputs);
        break;
      case 6:
        damage(sim.output_bytes);
        break;
      case 7:
        sim.num_ops = static_cast<int32_t>(rng.UniformInt(-1, 12));
        break;
      case 8:
        sim.num_devices = static_cast<int32_t>(rng.UniformInt(-1, 300));
        break;
      case 9:
        damage(sim.routes.channels.begin);
        break;
      case 10:
        damage(sim.routes.channels.items);
        break;
      case 11:
        damage(sim.routes.latency_us);
        break;
      case 12:
        damage(sim.routes.bandwidth_bytes_per_us);
        break;
      case 13:
        sim.routes.num_channels = static_cast<int32_t>(rng.UniformInt(-1, 10000));
        break;
      default:
        sim.bandwidth_bytes_per_us = rng.UniformInt(0, 1) == 0 ? 0 : 1e-310;
        break;
    }
    try {
      sim.Validate();
    } catch (const Error&) {
      ++refused;
      continue;
    }
    ++run;
    Simulator(sim).Run(placement);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(run, 300);
}

}  // namespace
}  // namespace emplace
