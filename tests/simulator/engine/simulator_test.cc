#include "simulator/engine/simulator.h"

#include <gtest/gtest.h>

#include "tests/support/allocation_counter.h"
#include "tests/support/event_queue_oracle.h"
#include "tests/support/link_rules.h"
#include "tests/support/make_op.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// 100 B/us; overheads as given.
Cluster MakeCluster(int devices, double op_overhead_us, double transfer_overhead_us) {
  Cluster cluster;
  for (int d = 0; d < devices; ++d) cluster.devices.push_back({"d:" + std::to_string(d), "x", 1000000});
  cluster.op_overhead_us = op_overhead_us;
  cluster.transfer_overhead_us = transfer_overhead_us;
  cluster.bandwidth_bytes_per_us = 100;
  return cluster;
}

Cluster ByPlacetosRule(Cluster cluster) {
  cluster.memory_rule = MemoryRule::kPlaceto;
  return cluster;
}

Timeline RunOn(const std::vector<Op>& ops, const Cluster& cluster, const Placement& placement) {
  const SimGraph sim = SimGraph::Compile(OpGraph("g", ops), cluster);
  Simulator simulator(sim);
  return simulator.Run(placement);
}

TEST(Simulator, AnEmptyGraphTakesNoTime) { EXPECT_EQ(RunOn({}, MakeCluster(2, 5, 5), {}).makespan_us, 0); }

TEST(Simulator, OverheadKeepsTheDeviceBusyAndCountsAtTheEnd) {
  // a: 0..10, busy until 10+3; b: 13..33, busy until 36, which is the last event.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {8}), MakeOp("b", 20, {}, {8})}, MakeCluster(1, 3, 0), {0, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 13}));
  EXPECT_EQ(run.finish_us, (std::vector<double>{10, 33}));
  EXPECT_EQ(run.makespan_us, 36);
}

TEST(Simulator, AnOpOfNoCostHasNoOverhead) {
  // a costs 0, so b starts at 0 as well; b: 0..5, busy until 8.
  const Timeline run = RunOn({MakeOp("a", 0, {}, {8}), MakeOp("b", 5, {}, {8})}, MakeCluster(1, 3, 0), {0, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0}));
  EXPECT_EQ(run.makespan_us, 8);
}

TEST(Simulator, TransferWaitsForTheBusyLink) {
  // Two 10 us ops on d:0 each send 1000 B to d:1: 10 us on the link, and 5 us before it takes the next.
  // a ends at 10: sent 10..20, link free at 25. b: 10..20, sent 25..35, link free at 40.
  // c reads a: 20..21. d reads b: 35..36. Last event: the link at 40.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 10, {}, {1000}), MakeOp("c", 1, {{0, 0}}, {}),
                              MakeOp("d", 1, {{1, 0}}, {})},
                             MakeCluster(2, 0, 5), {0, 0, 1, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 10, 20, 35}));
  EXPECT_EQ(run.makespan_us, 40);
}

TEST(Simulator, ALatencyDelaysTheArrivalAndNotTheLink) {
  // As above with 30 us of latency: a's bytes are sent 10..20 and arrive at 50, b's are sent 25..35 and arrive at 65.
  // c: 50..51, d: 65..66, which is the last event.
  Cluster cluster = MakeCluster(2, 0, 5);
  cluster.transfer_latency_us = 30;
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 10, {}, {1000}), MakeOp("c", 1, {{0, 0}}, {}),
                              MakeOp("d", 1, {{1, 0}}, {})},
                             cluster, {0, 0, 1, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 10, 50, 65}));
  EXPECT_EQ(run.makespan_us, 66);
  EXPECT_EQ(run.transfers[1].start_us, 25);
  EXPECT_EQ(run.transfers[1].delivered_us, 65);
  EXPECT_EQ(run.transfers[1].free_us, 40);
}

TEST(Simulator, ArrivalsAtOneTimeGoByProducer) {
  // On d:0, op 1 ends at 10 and op 0 at 10 as well, after it, as it costs nothing and is started by op 1. Both signals
  // arrive at 13 on d:1, that of op 0 first: op 3, its reader, runs before op 2.
  Cluster cluster = MakeCluster(2, 0, 0);
  cluster.transfer_latency_us = 3;
  const Timeline run =
      RunOn({MakeOp("a", 0, {{1, OpInput::kControl}}, {}), MakeOp("b", 10, {}, {}),
             MakeOp("c", 7, {{1, OpInput::kControl}}, {}), MakeOp("d", 7, {{0, OpInput::kControl}}, {})},
            cluster, {0, 0, 1, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{10, 0, 20, 13}));
}

TEST(Simulator, OneTransferServesAllRemoteReaders) {
  // a's 1000 B go once, 10..20, and are ready at 20 on d:1 and on d:2 for all three readers; b reads it locally at 10.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 1, {{0, 0}}, {}), MakeOp("c", 1, {{0, 0}}, {}),
                              MakeOp("d", 1, {{0, 0}}, {}), MakeOp("e", 1, {{0, 0}}, {})},
                             MakeCluster(3, 0, 5), {0, 0, 1, 1, 2});
  EXPECT_EQ(run.transfers.size(), 1u);
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 10, 20, 21, 20}));
  EXPECT_EQ(run.makespan_us, 25);  // The link's trailing overhead.
}

TEST(Simulator, TransfersOfOneOpGoByFirstRemoteReader) {
  // Output 0 is read remotely by op 2, output 1 by op 1: output 1 goes first. 10..20 and 20..30.
  const Timeline run =
      RunOn({MakeOp("a", 10, {}, {1000, 1000}), MakeOp("b", 1, {{0, 1}}, {}), MakeOp("c", 1, {{0, 0}}, {})},
            MakeCluster(2, 0, 0), {0, 1, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 20, 30}));
}

TEST(Simulator, AControlEdgeIsATransferOfNoBytes) {
  // a ends at 10; its control signal is delivered at once and keeps the link busy for 5. b: 10..11. Last event: 15.
  const Timeline run =
      RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 1, {{0, OpInput::kControl}}, {})}, MakeCluster(2, 0, 5), {0, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 10}));
  EXPECT_EQ(run.makespan_us, 15);
}

TEST(Simulator, InputsReadyAtOneTimeQueueByProducerThenConsumer) {
  // Ops 0 (on d:0) and 1 (on d:1) both end at 10. Op 0's reader on d:0 is op 3, op 1's on d:1 is op 2; both readers
  // also need nothing else. Ops 4 and 5 on d:2 read both signals: ready by (0,4), (0,5), (1,4), (1,5), so 4 before 5.
  const Timeline run =
      RunOn({MakeOp("a", 10, {}, {0}), MakeOp("b", 10, {}, {0}), MakeOp("c", 1, {{1, 0}}, {}),
             MakeOp("d", 1, {{0, 0}}, {}), MakeOp("e", 7, {{1, 0}, {0, 0}}, {}), MakeOp("f", 7, {{0, 0}, {1, 0}}, {})},
            MakeCluster(3, 0, 0), {0, 1, 1, 0, 2, 2});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0, 10, 10, 10, 17}));
}

TEST(Simulator, ATransferForEachDestination) {
  // a ends at 10. Its 1000 B go to d:2 first, 10..20, for its first reader there is op 1; then, after 5 us of overhead,
  // to d:1, 25..35, for ops 2 and 3. Op 4 reads it on d:2 as well. b: 20..21, e: 21..22, c: 35..36, d: 36..37. Last
  // event: the link, 40.
  Cluster cluster = MakeCluster(3, 0, 5);
  cluster.link_model = LinkModel::kPerDestination;
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 1, {{0, 0}}, {}), MakeOp("c", 1, {{0, 0}}, {}),
                              MakeOp("d", 1, {{0, 0}}, {}), MakeOp("e", 1, {{0, 0}}, {})},
                             cluster, {0, 2, 1, 1, 2});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 20, 35, 36, 21}));
  ASSERT_EQ(run.transfers.size(), 2u);
  EXPECT_EQ(run.transfers[0].to, 2);
  EXPECT_EQ(run.transfers[1].to, 1);
  EXPECT_EQ(run.makespan_us, 40);
}

TEST(Simulator, DestinationsOfSeveralOutputsGoByTheirFirstReaders) {
  // Outputs 0 and 1 of a, 1000 B each. First readers: output 0 on d:1 op 1, on d:2 op 4; output 1 on d:1 op 3, on d:2
  // op 2. So (0, d:1) 10..20, (1, d:2) 20..30, (1, d:1) 30..40, (0, d:2) 40..50.
  Cluster cluster = MakeCluster(3, 0, 0);
  cluster.link_model = LinkModel::kPerDestination;
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000, 1000}), MakeOp("b", 1, {{0, 0}}, {}),
                              MakeOp("c", 1, {{0, 1}}, {}), MakeOp("d", 1, {{0, 1}}, {}), MakeOp("e", 1, {{0, 0}}, {})},
                             cluster, {0, 1, 2, 1, 2});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 20, 30, 40, 50}));
}

// d:0 and d:1 on switch "s", d:2 on switch "t"; device links of 100 B/us and 1 us, a trunk "s" to "t" of 50 B/us and 2
// us.
Cluster MakeTwoSwitches(double transfer_overhead_us) {
  Cluster cluster = MakeCluster(3, 0, transfer_overhead_us);
  cluster.link_model = LinkModel::kTopology;
  cluster.topology.nodes = {"d:0", "d:1", "d:2", "s", "t"};
  cluster.topology.links = {{"l0", 0, 3, 100, 1}, {"l1", 1, 3, 100, 1}, {"l2", 2, 4, 100, 1}, {"trunk", 3, 4, 50, 2}};
  return cluster;
}

TEST(Simulator, ARouteTakesItsLatenciesAndTheBandwidthOfItsSlowestLink) {
  // a ends at 10. To d:2: 1 + 2 + 1 us of latency, and 1000 B / 50 B/us: 10..34, links free at 39. Then to d:1, over l0
  // too, which is why it waits: 1 + 1 us, and 1000 / 100: 39..51, links free at 56.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 1, {{0, 0}}, {}), MakeOp("c", 1, {{0, 0}}, {})},
                             MakeTwoSwitches(5), {0, 2, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 34, 51}));
  EXPECT_EQ(run.makespan_us, 56);
}

TEST(Simulator, TransfersShareNoLinkButPassInOppositeDirections) {
  // a on d:0, b on d:1 and c on d:2 end at 10 and send 1000 B each: a and b to d:2, c to d:0 (1 + 2 + 1 + 20 us).
  // a 10..34; c in the other direction at the same time, 10..34; b waits for the trunk: 34..58.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 10, {}, {1000}), MakeOp("c", 10, {}, {1000}),
                              MakeOp("d", 1, {{0, 0}}, {}), MakeOp("e", 1, {{1, 0}}, {}), MakeOp("f", 1, {{2, 0}}, {})},
                             MakeTwoSwitches(0), {0, 1, 2, 2, 2, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0, 0, 34, 58, 34}));
}

TEST(Simulator, ARequestWhoseLinksAreFreePassesOneThatWaits) {
  // On d:0: a ends at 10, its 1000 B go to d:2, 10..34. On d:1: b ends at 11, its 1000 B for d:2 must wait for the
  // trunk until 34; c ends at 12, its 1000 B for d:0 pass: l1 and l0 towards d:0 are free, 12..24. b's go from 34
  // to 58.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 11, {}, {1000}), MakeOp("c", 1, {}, {1000}),
                              MakeOp("d", 1, {{0, 0}}, {}), MakeOp("e", 1, {{1, 0}}, {}), MakeOp("f", 1, {{2, 0}}, {})},
                             MakeTwoSwitches(0), {0, 1, 1, 2, 2, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0, 11, 34, 58, 24}));
}

// Each transfer of 1000 B takes 10 us, for `blocking` of which it occupies both devices.
Cluster MakeBlocking(int devices, double blocking) {
  Cluster cluster = MakeCluster(devices, 0, 0);
  cluster.link_model = LinkModel::kPerDestination;
  cluster.blocking = blocking;
  return cluster;
}

TEST(Simulator, ATransferThatBlocksWaitsForItsReceiverAndHoldsUpItsSender) {
  // a ends at 10 on d:0, but d:1 runs b until 25: a's bytes go 25..35, and meanwhile d:0 may not run c, though it is
  // ready: 35..40. d reads a's bytes on d:1, 35..36.
  const std::vector<Op> ops = {MakeOp("a", 10, {}, {1000}), MakeOp("b", 25, {}, {}), MakeOp("c", 5, {}, {}),
                               MakeOp("d", 1, {{0, 0}}, {})};
  const Timeline run = RunOn(ops, MakeBlocking(2, 1), {0, 1, 0, 1});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0, 35, 35}));
  EXPECT_EQ(run.makespan_us, 40);
  // For a quarter of its time: c starts at 27.5, and d where the bytes are there.
  EXPECT_EQ(RunOn(ops, MakeBlocking(2, 0.25), {0, 1, 0, 1}).start_us, (std::vector<double>{0, 0, 27.5, 35}));
}

TEST(Simulator, ADeviceThatWaitsToSendReceivesAndRunsNothing) {
  // a on d:0 and b on d:1 end at 10, and each sends to the other: the first request goes first, 10..20, then 20..30.
  // Until then neither runs another op: c, which reads b's bytes, and d, which reads a's, start at 30, and so does e.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 10, {}, {1000}), MakeOp("c", 1, {{1, 0}}, {}),
                              MakeOp("d", 1, {{0, 0}}, {}), MakeOp("e", 1, {{0, OpInput::kControl}}, {})},
                             MakeBlocking(2, 1), {0, 1, 0, 1, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0, 31, 30, 30}));
}

TEST(Simulator, ASignalBlocksNobody) {
  // a's control signal reaches d:1 at 10, though d:1 runs b; c starts when that ends, and d at once.
  const Timeline run = RunOn({MakeOp("a", 10, {}, {1000}), MakeOp("b", 25, {}, {}),
                              MakeOp("c", 1, {{0, OpInput::kControl}}, {}), MakeOp("d", 1, {}, {})},
                             MakeBlocking(2, 1), {0, 1, 1, 0});
  EXPECT_EQ(run.start_us, (std::vector<double>{0, 0, 25, 10}));
}

TEST(Simulator, ADeviceHoldsWhatItMakesAndWhatItReceives) {
  // a: 0..10 on d:0 makes 100 B, sent 10..11, which stay there until then. b: 10..30 on d:0 makes 10 B that nobody
  // reads, so they stay. c: 11..16 on d:1 reads a's 100 B, makes 20 B, sent at 16 and read by d: 16.2..21.2 on d:0.
  // d:0: at 10, 110 B; from 16.2 on 10 + 20. d:1: at 11, the copy and c's own: 120; d's 1 B with b's at the end.
  const std::vector<Op> ops = {MakeOp("a", 10, {}, {100}), MakeOp("b", 20, {{0, OpInput::kControl}}, {10}),
                               MakeOp("c", 5, {{0, 0}}, {20}), MakeOp("d", 5, {{2, 0}}, {1})};
  EXPECT_EQ(RunOn(ops, MakeCluster(2, 0, 0), {0, 0, 1, 0}).peak_bytes, (std::vector<int64_t>{110, 120}));
}

TEST(Simulator, AResidentOutputIsThereOnce) {
  // p's 400 B are its parameters. a reads them on d:0, which holds them once, and b a copy of them on d:1.
  std::vector<Op> ops = {MakeOp("p", 0, {}, {400}), MakeOp("a", 10, {{0, 0}}, {}), MakeOp("b", 10, {{0, 0}}, {})};
  ops[0].param_bytes = 400;
  ops[0].outputs[0].resident = true;
  EXPECT_EQ(RunOn(ops, MakeCluster(2, 0, 0), {0, 0, 1}).peak_bytes, (std::vector<int64_t>{400, 400}));
}

TEST(Simulator, WhatAStepLeavesStays) {
  // Nobody reads a's 100 B: they are still there when b's 10 B, which c reads, are gone and c makes 50. The gradient g
  // stays although d reads it.
  std::vector<Op> ops = {MakeOp("a", 1, {}, {100}), MakeOp("b", 1, {}, {10}), MakeOp("c", 1, {{1, 0}}, {50}),
                         MakeOp("g", 1, {{2, 0}}, {5}), MakeOp("d", 1, {{3, 0}}, {60})};
  ops[3].type = "emplace.gradient";
  // At 2, while c runs: 100 + 10 + 50. At 3, while g runs: 100 + 50 + 5. At 4, while d runs: 100 + 5 + 60.
  EXPECT_EQ(RunOn(ops, MakeCluster(1, 0, 0), {0, 0, 0, 0, 0}).peak_bytes, (std::vector<int64_t>{165}));
}

TEST(Simulator, PlacetosPeakMemoryHoldsAnOutputUntilItsLastReader) {
  // One device. a: 0..10 holds 100 B until floor(30)+floor(10)-1 = 39 (reader c starts at 30); b: 10..30 holds 1000 B
  // until its own start 10, nobody reads it; c: 30..40, 10 B until 30. Parameters of b: 7 B; temp of c: 50 B.
  // At 0: 107. At 10: 100+1000+7 = 1107. At 30: 100+10+50+7 = 167.
  std::vector<Op> ops = {MakeOp("a", 10, {}, {100}), MakeOp("b", 20, {{0, OpInput::kControl}}, {1000}),
                         MakeOp("c", 10, {{0, 0}, {1, OpInput::kControl}}, {10})};
  ops[1].param_bytes = 7;
  ops[2].temp_bytes = 50;
  // b's output has a control reader, c, so it is held until 39 as well: at 30 it is 1167.
  EXPECT_EQ(RunOn(ops, ByPlacetosRule(MakeCluster(1, 0, 0)), {0, 0, 0}).peak_bytes, (std::vector<int64_t>{1167}));
}

TEST(Simulator, AdditionsComeBeforeReleasesAtOneTimeByPlacetosRule) {
  // a: 0..1 holds 100 B until floor(1)+floor(2)-1 = 2 (reader b: 1..3). c: starts at 3: 100 B are gone. b holds 10 B
  // until its reader c: floor(3)+floor(1)-1 = 3. At 1: 110. At 3: b's 10 still count with c's 200: 210.
  const Timeline run =
      RunOn({MakeOp("a", 1, {}, {100}), MakeOp("b", 2, {{0, 0}}, {10}), MakeOp("c", 1, {{1, 0}}, {200})},
            ByPlacetosRule(MakeCluster(1, 0, 0)), {0, 0, 0});
  EXPECT_EQ(run.peak_bytes, (std::vector<int64_t>{210}));
}

class EveryLinkModel : public ::testing::TestWithParam<LinkRules> {};
INSTANTIATE_TEST_SUITE_P(Simulator, EveryLinkModel, ::testing::ValuesIn(kEveryLinkRules),
                         [](const auto& tested) { return LinkRulesName(tested.param); });

// Thousands of random graphs against the plain second implementation.
TEST_P(EveryLinkModel, AgreesWithTheEventQueueOracle) {
  for (uint64_t seed = 0; seed < Trials(3600); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{.max_ops = seed % 10 == 0 ? 120 : 25,
                                     .max_devices = seed % 7 == 0 ? 8 : 3,
                                     .edge_density = seed % 3 == 0 ? 3.0 : 1.5,
                                     .parameters = seed % 2 == 0 ? 8 : 0,
                                     .link_model = GetParam().model,
                                     .blocking = GetParam().blocking};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const OracleRun expected = SimulateByEventQueue(graph, cluster, placement);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    sim.Validate();
    Simulator simulator(sim);
    const Timeline& run = simulator.Run(placement);
    ASSERT_NEAR(run.makespan_us, expected.makespan_us, 1e-9) << "seed " << seed;
    for (size_t o = 0; o < placement.size(); ++o) {
      ASSERT_NEAR(run.start_us[o], expected.start_us[o], 1e-9) << "seed " << seed << " op " << o;
      ASSERT_NEAR(run.finish_us[o], expected.finish_us[o], 1e-9) << "seed " << seed << " op " << o;
    }
    ASSERT_EQ(run.peak_bytes, expected.peak_bytes) << "seed " << seed;
    ASSERT_EQ(run.transfers.size(), expected.transfers) << "seed " << seed;
  }
}

// Between two devices the models differ in nothing: one receiver, and a link in each direction.
TEST(Simulator, TwoDevicesOnOneLinkAreTheSameInEveryModel) {
  for (uint64_t seed = 0; seed < Trials(2000); ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraph(rng);
    Cluster cluster = RandomCluster(rng);
    cluster.devices = {{"d:0", "x", 1000000}, {"d:1", "y", 1000000}};
    cluster.transfer_latency_us = 0;  // A topology's link is busy meanwhile.
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const Timeline shared = RunOn(graph.ops(), cluster, placement);
    cluster.link_model = LinkModel::kPerDestination;
    const Timeline per_destination = RunOn(graph.ops(), cluster, placement);
    cluster.link_model = LinkModel::kTopology;
    cluster.topology = {{"d:0", "d:1"}, {{"link", 0, 1, cluster.bandwidth_bytes_per_us, 0}}};
    const Timeline topology = RunOn(graph.ops(), cluster, placement);
    ASSERT_EQ(per_destination.start_us, shared.start_us) << "seed " << seed;
    ASSERT_EQ(topology.start_us, shared.start_us) << "seed " << seed;
    ASSERT_EQ(per_destination.makespan_us, shared.makespan_us) << "seed " << seed;
    ASSERT_EQ(topology.makespan_us, shared.makespan_us) << "seed " << seed;
  }
}

TEST_P(EveryLinkModel, IsReusedWithoutAllocatingAndGivesEqualResults) {
  Rng rng(5);
  const RandomGraphOptions options{.max_ops = 200, .link_model = GetParam().model, .blocking = GetParam().blocking};
  const OpGraph graph = RandomGraph(rng, options);
  Cluster cluster = RandomCluster(rng, options);
  while (cluster.num_devices() < 3) cluster = RandomCluster(rng, options);
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  std::vector<Placement> placements;
  for (int i = 0; i < 20; ++i) placements.push_back(RandomPlacement(rng, graph, cluster));
  std::vector<double> fresh;
  for (const Placement& placement : placements) fresh.push_back(Simulator(sim).Makespan(placement));

  Simulator simulator(sim);
  std::vector<double> reused(placements.size());
  std::vector<int64_t> peak(cluster.devices.size());
  const int64_t before = AllocationsSoFar();
  for (size_t i = 0; i < placements.size(); ++i) {
    reused[i] = simulator.Makespan(placements[i]);
    simulator.MakespanAndPeak(placements[i], peak);
    simulator.Run(placements[i]);
  }
  EXPECT_EQ(AllocationsSoFar(), before);
  EXPECT_EQ(reused, fresh);
}

}  // namespace
}  // namespace emplace
