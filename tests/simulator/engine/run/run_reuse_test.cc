// What a Simulator takes over from the call before never shows in a result.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/engine/simulator.h"
#include "tests/simulator/engine/run/long_runs.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/link_rules.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

class RunReuse : public ::testing::TestWithParam<LinkRules> {};
INSTANTIATE_TEST_SUITE_P(Simulator, RunReuse, ::testing::ValuesIn(kEveryLinkRules),
                         [](const auto& tested) { return LinkRulesName(tested.param); });

// Changes `placement` as searches and episodes do: a single op, a run of neighbours, ops that start late, many, all,
// none.
void Move(Rng& rng, int32_t num_devices, const Timeline& last, Placement& placement) {
  const auto device = [&] { return static_cast<DeviceIndex>(rng.UniformInt(0, num_devices - 1)); };
  const auto op = [&] { return static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(placement.size()) - 1)); };
  switch (rng.UniformInt(0, 6)) {
    case 0:
      placement[op()] = device();
      break;
    case 1: {
      const DeviceIndex to = device();
      const size_t first = op();
      for (size_t o = first; o < std::min(first + 8, placement.size()); ++o) placement[o] = to;
      break;
    }
    case 2:
    case 3: {  // What starts in the last part of the run.
      const double from = last.makespan_us * rng.Uniform(0.3, 1);
      const DeviceIndex to = device();
      for (size_t o = 0; o < placement.size(); ++o) {
        if (last.start_us[o] >= from && rng.UniformInt(0, 3) == 0) placement[o] = to;
      }
      break;
    }
    case 4:
      for (DeviceIndex& to : placement) {
        if (rng.UniformInt(0, 1) == 0) to = device();
      }
      break;
    case 5:
      for (DeviceIndex& to : placement) to = device();
      break;
    default:
      break;
  }
}

void ExpectEqual(const Timeline& run, const Timeline& fresh) {
  ASSERT_EQ(run.makespan_us, fresh.makespan_us);
  ASSERT_EQ(run.start_us, fresh.start_us);
  ASSERT_EQ(run.finish_us, fresh.finish_us);
  ASSERT_EQ(run.peak_bytes, fresh.peak_bytes);
  ASSERT_EQ(run.transfers.size(), fresh.transfers.size());
  for (size_t i = 0; i < run.transfers.size(); ++i) {
    const Transfer& a = run.transfers[i];
    const Transfer& b = fresh.transfers[i];
    ASSERT_TRUE(a.tensor == b.tensor && a.from == b.from && a.to == b.to && a.start_us == b.start_us &&
                a.delivered_us == b.delivered_us && a.free_us == b.free_us)
        << "transfer " << i;
  }
}

// Sequences of moves, and of ways back to earlier placements, against a new Simulator for each.
TEST_P(RunReuse, EveryResultIsThatOfAFreshSimulator) {
  size_t taken_over = 0;
  for (uint64_t seed = 0; seed < Trials(150); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options = LongRunOptions(seed, GetParam());
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    Simulator simulator(sim);
    std::vector<Placement> placements = {RandomPlacement(rng, graph, cluster)};
    std::vector<int64_t> peak(cluster.devices.size());
    for (int step = 0; step < 40; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
      const bool back = rng.UniformInt(0, 5) == 0;
      Placement placement =
          back ? placements[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(placements.size()) - 1))]
               : placements.back();
      Simulator fresh_simulator(sim);
      const Timeline& fresh = fresh_simulator.Run(placement);
      if (!back) {
        Move(rng, sim.num_devices, fresh, placement);
        fresh_simulator.Run(placement);
      }
      switch (rng.UniformInt(0, 4)) {
        case 0:
          ASSERT_NO_FATAL_FAILURE(ExpectEqual(simulator.Run(placement), fresh));
          break;
        case 1:
          ASSERT_EQ(simulator.Makespan(placement), fresh.makespan_us);
          break;
        default:
          ASSERT_EQ(simulator.MakespanAndPeak(placement, peak), fresh.makespan_us);
          ASSERT_EQ(peak, fresh.peak_bytes);
          break;
      }
      ASSERT_LE(simulator.events(), fresh_simulator.events());
      taken_over += fresh_simulator.events() - simulator.events();
      placements.push_back(placement);
    }
  }
  EXPECT_GT(taken_over, 0u);
}

// A chain on one device, whose last op moves back and forth: nearly all of the run before it holds.
TEST_P(RunReuse, SimulatesLittleMoreThanWhatDiffers) {
  std::vector<Op> ops(2000);
  for (size_t o = 0; o < ops.size(); ++o) {
    ops[o].name = "op" + std::to_string(o);
    ops[o].type = "t";
    ops[o].cost = OpCost::Everywhere(1);
    ops[o].outputs.push_back({.bytes = 100, .shape = {}, .dtype = ""});
    if (o > 0) ops[o].inputs.push_back({static_cast<OpIndex>(o) - 1, 0});
  }
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000000}, {"d:1", "x", 1000000}};
  cluster.bandwidth_bytes_per_us = 100;
  cluster.link_model = GetParam().model;
  cluster.blocking = GetParam().blocking ? 1 : 0;
  cluster.topology = {{"d:0", "d:1"}, {{"link", 0, 1, 100, 0}}};
  const SimGraph sim = SimGraph::Compile(OpGraph("chain", ops), cluster);
  Simulator simulator(sim);
  Placement placement(ops.size(), 0);
  EXPECT_EQ(simulator.Makespan(placement), 2000);
  EXPECT_EQ(simulator.events(), 2000u);
  placement.back() = 1;
  EXPECT_EQ(simulator.Makespan(placement), 2001);
  EXPECT_LT(simulator.events(), 200u);
  placement.back() = 0;
  EXPECT_EQ(simulator.Makespan(placement), 2000);
  EXPECT_LT(simulator.events(), 200u);
  placement.front() = 1;
  EXPECT_EQ(simulator.Makespan(placement), 2001);
  EXPECT_EQ(simulator.events(), 2001u);
}

TEST_P(RunReuse, AllocatesNothing) {
  Rng rng(3);
  const RandomGraphOptions options{.max_ops = 500, .link_model = GetParam().model, .blocking = GetParam().blocking};
  const OpGraph graph = RandomGraph(rng, options);
  Cluster cluster = RandomCluster(rng, options);
  while (cluster.num_devices() < 3) cluster = RandomCluster(rng, options);
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Placement placement = RandomPlacement(rng, graph, cluster);
  std::vector<int64_t> peak(cluster.devices.size());
  Simulator fresh(sim);
  const Timeline first = fresh.Run(placement);
  Simulator simulator(sim);
  const int64_t before = AllocationsSoFar();
  for (int i = 0; i < 200; ++i) {
    Move(rng, sim.num_devices, first, placement);
    simulator.MakespanAndPeak(placement, peak);
  }
  EXPECT_EQ(AllocationsSoFar(), before);
}

}  // namespace
}  // namespace emplace
