// Devices that choose by priority. The runs are checked by the rule itself, and by the runs of the orders that come of
// them, which the second simulator knows, too.
#include "simulator/engine/queues/priority_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "simulator/engine/simulator.h"
#include "tests/support/event_queue_oracle.h"
#include "tests/support/link_rules.h"
#include "tests/support/make_op.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_priority.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// A graph, a machine, a placement and a priority, which differ with the seed.
struct RandomCase {
  explicit RandomCase(uint64_t seed)
      : rng(seed),
        links(kEveryLinkRules[seed % kEveryLinkRules.size()]),
        options{
            .max_ops = 80, .parameters = seed % 2 == 0 ? 20 : 0, .link_model = links.model, .blocking = links.blocking},
        graph(RandomGraph(rng, options)),
        cluster(RandomCluster(rng, options)),
        sim(SimGraph::Compile(graph, cluster)),
        placement(RandomPlacement(rng, graph, cluster)),
        priority(seed % 4 == 0 ? RandomPrioritySourcesFirst(rng, sim) : RandomPriority(rng, sim.num_ops)) {}

  Rng rng;
  LinkRules links;
  RandomGraphOptions options;
  OpGraph graph;
  Cluster cluster;
  SimGraph sim;
  Placement placement;
  std::vector<OpIndex> priority;
};

// When an op's inputs are all there, by the times at which ops end and transfers are delivered.
std::vector<double> ReadyUs(const SimGraph& sim, const Placement& placement, const Timeline& run) {
  std::vector<double> ready_us(placement.size(), 0);
  for (size_t o = 0; o < placement.size(); ++o) {
    for (const int32_t tensor : sim.TensorsOf(static_cast<OpIndex>(o))) {
      for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) {
        const auto r = static_cast<size_t>(reader);
        double there_us = run.finish_us[o];
        if (placement[r] != placement[o]) {
          const auto served = std::ranges::find_if(run.transfers, [&](const Transfer& transfer) {
            return transfer.tensor == tensor && (transfer.to == Transfer::kAllReaders || transfer.to == placement[r]);
          });
          EXPECT_NE(served, run.transfers.end());
          there_us = served->delivered_us;
        }
        ready_us[r] = std::max(ready_us[r], there_us);
      }
    }
  }
  return ready_us;
}

TEST(PriorityRun, StartsTheReadyOpOfHighestPriority) {
  int passed_over = 0;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const RandomCase random(seed);
    const Placement& placement = random.placement;
    const std::vector<OpIndex>& priority = random.priority;
    Simulator simulator(random.sim);
    simulator.SetPriority(priority);
    const Timeline& run = simulator.Run(placement);
    const std::vector<double> ready_us = ReadyUs(random.sim, placement, run);
    for (size_t i = 0; i < priority.size(); ++i) {
      const auto first = static_cast<size_t>(priority[i]);
      EXPECT_GE(run.start_us[first], ready_us[first]);
      for (size_t j = i + 1; j < priority.size(); ++j) {
        const auto second = static_cast<size_t>(priority[j]);
        if (placement[first] != placement[second] || run.start_us[second] >= run.start_us[first]) continue;
        // The op of lower priority went first, so the other one was not ready before it started.
        EXPECT_GE(ready_us[first], run.start_us[second]);
        ++passed_over;
      }
    }
  }
  EXPECT_GT(passed_over, 100);
}

TEST(PriorityRun, IsTheRunOfItsOrders) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomCase random(seed);
    Simulator simulator(random.sim);
    simulator.SetPriority(random.priority);
    const Timeline run = simulator.Run(random.placement);
    const DeviceOrders orders = simulator.StartOrders();
    const OracleRun oracle = SimulateByEventQueue(random.graph, random.cluster, random.placement, orders);
    EXPECT_EQ(run.makespan_us, oracle.makespan_us);
    EXPECT_EQ(run.start_us, oracle.start_us);
    EXPECT_EQ(run.finish_us, oracle.finish_us);
    EXPECT_EQ(run.peak_bytes, oracle.peak_bytes);
    EXPECT_EQ(run.transfers.size(), oracle.transfers);
    // Another one in between makes no difference.
    simulator.SetPriority(RandomPriority(random.rng, random.sim.num_ops));
    simulator.Makespan(random.placement);
    simulator.SetPriority(random.priority);
    EXPECT_EQ(simulator.Run(random.placement).start_us, run.start_us);
  }
}

TEST(PlaceSets, GiveTheirLeastPlace) {
  for (const size_t places : {1u, 63u, 64u, 65u, 4096u, 4097u, 300'000u}) {
    Rng rng(places);
    PlaceSets sets(2, places);
    std::vector<std::set<size_t>> expected(2);
    for (int step = 0; step < 2000; ++step) {
      const auto set = static_cast<size_t>(rng.UniformInt(0, 1));
      ASSERT_EQ(sets.Empty(set), expected[set].empty());
      if (rng.Uniform() < 0.6) {
        const auto place = static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(places) - 1));
        sets.Add(set, place);
        expected[set].insert(place);
      } else if (!expected[set].empty()) {
        ASSERT_EQ(sets.TakeLeast(set), *expected[set].begin());
        expected[set].erase(expected[set].begin());
      }
    }
    sets.Clear();
    EXPECT_TRUE(sets.Empty(0) && sets.Empty(1));
  }
}

TEST(PriorityRun, ChoosesUntilTheNextOpStarts) {
  // a and b are on d:0, x on d:1, which sends 100 B/us and then is busy for 0 us; y and z read from x, on d:0. Each
  // device is busy for 5 us after an op. Priority: z, y, b, a, x.
  //   x: 0..6. Its tensors are sent one after the other: y's arrives at 6 + 1 = 7, z's at 7 + 2 = 9.
  //   b goes before a: 0..4. Then a is to start at 9. At 7, y is ready and takes its place, at 9 z takes that of y.
  //   z: 9..12. y: 17..21. a: 26..36, free at 41.
  Cluster cluster;
  cluster.devices = {{"d:0", "k", 1000000}, {"d:1", "k", 1000000}};
  cluster.op_overhead_us = 5;
  cluster.transfer_overhead_us = 0;
  cluster.bandwidth_bytes_per_us = 100;
  const OpGraph graph("g", {MakeOp("a", 10, {}, {0}), MakeOp("b", 4, {}, {0}), MakeOp("x", 6, {}, {100, 200}),
                            MakeOp("y", 4, {{2, 0}}, {0}), MakeOp("z", 3, {{2, 1}}, {0})});
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Simulator simulator(sim);
  simulator.SetPriority(std::vector<OpIndex>{4, 3, 1, 0, 2});
  const Timeline& run = simulator.Run(Placement{0, 0, 1, 0, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{26, 0, 0, 17, 9}));
  EXPECT_EQ(run.makespan_us, 41);
  EXPECT_EQ(simulator.StartOrders(), (DeviceOrders{{1, 4, 3, 0}, {2}}));
}

}  // namespace
}  // namespace emplace
