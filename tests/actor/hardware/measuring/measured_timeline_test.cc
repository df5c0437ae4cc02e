#include "actor/hardware/measuring/measured_timeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>

#include "simulator/engine/simulator.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using Travel = std::tuple<int32_t, DeviceIndex, DeviceIndex>;  // Tensor, from, to.

// What travels according to a timeline, once for each device that reads it. The tensor of 0 bytes may be a signal.
std::set<Travel> Travels(const SimGraph& sim, const Placement& placement, const Timeline& timeline) {
  std::set<Travel> travels;
  for (const Transfer& transfer : timeline.transfers) {
    if (sim.tensor_bytes[static_cast<size_t>(transfer.tensor)] == 0) continue;
    for (const int32_t reader : sim.tensor_consumers.Row(transfer.tensor)) {
      const DeviceIndex to = placement[static_cast<size_t>(reader)];
      if (to == transfer.from || (transfer.to != Transfer::kAllReaders && transfer.to != to)) continue;
      travels.emplace(transfer.tensor, transfer.from, to);
    }
  }
  return travels;
}

TEST(MeasuredTimeline, CopiesTheTensorsThatTheSimulatorSends) {
  size_t sent = 0;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{.link_model = seed % 2 == 0 ? LinkModel::kShared : LinkModel::kTopology};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    Simulator simulator(sim);
    const Timeline predicted = simulator.Run(placement);
    const StepProgram program = CompileStep(graph, placement, simulator.StartOrders());

    StepTimes times;
    times.step_us = predicted.makespan_us;
    times.op_begin_us = predicted.start_us;
    times.op_end_us = predicted.finish_us;
    for (const StepValue& value : program.values) {
      const bool copied = value.source != StepValue::kNone;
      times.copy_begin_us.push_back(copied ? 1 : std::numeric_limits<double>::quiet_NaN());
      times.copy_end_us.push_back(copied ? 3 : std::numeric_limits<double>::quiet_NaN());
    }
    const Timeline measured = MeasuredTimeline(graph, sim, program, times);
    EXPECT_EQ(measured.makespan_us, predicted.makespan_us);
    EXPECT_EQ(measured.start_us, predicted.start_us);
    EXPECT_EQ(measured.finish_us, predicted.finish_us);
    EXPECT_EQ(Travels(sim, placement, measured), Travels(sim, placement, predicted)) << seed;
    for (const Transfer& transfer : measured.transfers) {
      EXPECT_EQ(transfer.start_us, 1);
      EXPECT_EQ(transfer.delivered_us, 3);
    }
    sent += measured.transfers.size();
  }
  EXPECT_GT(sent, 0u);
}

TEST(MeasuredTimeline, PutsWhatDoesNotRunAtTheEnds) {
  const double never = std::numeric_limits<double>::quiet_NaN();
  std::vector<Op> ops(3);
  ops[0].name = "w";
  ops[0].type = "emplace.parameter";
  ops[0].outputs = {{.bytes = 4, .shape = {}, .dtype = ""}};
  ops[1].name = "a";
  ops[1].inputs = {{0, 0}};
  ops[2].name = "u";
  ops[2].type = "emplace.update";
  ops[2].inputs = {{0, 0}};
  const OpGraph graph("", std::move(ops));
  Cluster cluster;
  cluster.devices = {{.name = "cpu:0", .kind = "cpu", .memory_bytes = 1000}};
  cluster.bandwidth_bytes_per_us = 1;
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  const StepProgram program = CompileStep(graph, {0, 0, 0}, {{0, 1, 2}});
  const std::vector<double> no_copies(program.values.size(), never);
  const Timeline measured = MeasuredTimeline(graph, sim, program,
                                             {.step_us = 9,
                                              .op_begin_us = {never, 2, never},
                                              .op_end_us = {never, 5, never},
                                              .copy_begin_us = no_copies,
                                              .copy_end_us = no_copies});
  EXPECT_EQ(measured.start_us, (std::vector<double>{0, 2, 9}));
  EXPECT_EQ(measured.finish_us, (std::vector<double>{0, 5, 9}));
}

}  // namespace
}  // namespace emplace
