#include "actor/hardware/measuring/part_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "actor/hardware/measuring/replayed_step.h"
#include "actor/hardware/measuring/step_messages.h"
#include "simulator/engine/simulator.h"
#include "tests/support/make_op.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// a and b on device 0, c on device 1, which reads both.
struct TwoCopies {
  TwoCopies() {
    const OpGraph graph("g", {MakeOp("a", 1, {}), MakeOp("b", 1, {}), MakeOp("c", 1, {{0, 0}, {1, 0}})});
    program = CompileStep(graph, {0, 0, 1}, {{0, 1}, {2}});
    times.op_begin_us = {0, 10, 40};
    times.op_end_us = {10, 20, 50};
    times.copy_begin_us.assign(program.values.size(), kNone);
    times.copy_end_us.assign(program.values.size(), kNone);
    for (size_t value = 0; value < program.values.size(); ++value) {
      const StepValue& about = program.values[value];
      if (about.source == StepValue::kNone) continue;
      (about.op == 0 ? first : second) = value;
    }
  }
  void Copy(size_t value, double begin_us, double end_us) {
    times.copy_begin_us[value] = begin_us;
    times.copy_end_us[value] = end_us;
  }
  StepProgram program;
  StepTimes times;
  size_t first = 0;   // The copy of a's output.
  size_t second = 0;  // Of b's.
};

// a ends at 10, its copy is there at 15, although the copying took 2: waking the reader counts. b ends at 20, and so
// does what the reader did before, at 15.
TEST(CopyTimes, BeginWhenTheTensorIsThereAndTheReaderIsFree) {
  TwoCopies step;
  step.Copy(step.first, 13, 15);
  step.Copy(step.second, 23, 24);
  const std::vector<double> us = CopyTimesOf(step.program, step.times);
  EXPECT_EQ(us[step.first], 5);
  EXPECT_EQ(us[step.second], 4);
}

// Both are made when the reader comes to it: the second one waits for the first, not for b.
TEST(CopyTimes, LeaveOutForWhatTheReaderWasBusy) {
  TwoCopies step;
  step.Copy(step.first, 30, 33);
  step.Copy(step.second, 33, 35);
  const std::vector<double> us = CopyTimesOf(step.program, step.times);
  EXPECT_EQ(us[step.first], 23);  // Nothing else was done: it is the reader's first work.
  EXPECT_EQ(us[step.second], 2);
}

TEST(PartMeasurements, HaveMediansOfWhatWasDone) {
  TwoCopies step;
  step.times.op_begin_us[1] = kNone;
  step.times.op_end_us[1] = kNone;
  PartMeasurements parts(step.program);
  for (const double us : {4., 9., 5.}) {
    step.times.op_end_us[0] = us;
    step.Copy(step.first, 20, 20 + us);
    parts.Add(step.times);
  }
  const PartTimes medians = parts.Medians();
  EXPECT_EQ(medians.op_us[0], 5);
  EXPECT_TRUE(std::isnan(medians.op_us[1]));
  EXPECT_EQ(medians.op_us[2], 10);
  ASSERT_EQ(medians.copies.size(), 1U);
  EXPECT_EQ(medians.copies[0].op, 0);
  EXPECT_EQ(medians.copies[0].to, 1);
  EXPECT_EQ(medians.copies[0].us, 20);  // From 4, 9 and 5 until 24, 29 and 25.
}

// By hand: a ends at 10, b at 20. c's device has made the first copy at 12, while it waits, and the second one at 23.
TEST(ReplayedStep, CopiesOnTheCoreThatReads) {
  const TwoCopies step;
  std::vector<double> copy_us(step.program.values.size(), kNone);
  copy_us[step.first] = 2;
  copy_us[step.second] = 3;
  EXPECT_EQ(ReplayedStepUs(step.program, {10, 10, 7}, copy_us), 30);
  // With a copy of 15 us the second one begins at 25.
  copy_us[step.first] = 15;
  EXPECT_EQ(ReplayedStepUs(step.program, {10, 10, 7}, copy_us), 35);
  EXPECT_EQ(ReplayedStepUs(step.program, {10, kNone, 7}, copy_us), 35);  // 10 + 15 + 3 + 7.
}

// Without copies a replayed step is the simulated one on links that take no time: any graph, placement and orders.
TEST(ReplayedStep, IsTheSimulatedOneWhereTensorsTakeNoTime) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraph(rng);
    Cluster cluster = RandomCluster(rng);
    cluster.op_overhead_us = 0;
    cluster.bandwidth_bytes_per_us = 1e15;
    cluster.transfer_latency_us = 0;
    cluster.transfer_overhead_us = 0;
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    Simulator simulator(sim);
    simulator.Run(placement);
    const DeviceOrders orders = simulator.StartOrders();
    const double simulated_us = Simulator(sim, orders).Makespan(placement);
    std::vector<double> op_us;
    for (OpIndex op = 0; op < graph.num_ops(); ++op) {
      op_us.push_back(IsLeftOut(graph.op(op)) ? 0 : sim.BusyUs(op, placement[static_cast<size_t>(op)]));
    }
    const StepProgram program = CompileStep(graph, placement, orders);
    const double replayed_us = ReplayedStepUs(program, op_us, std::vector<double>(program.values.size(), 0));
    EXPECT_NEAR(replayed_us, simulated_us, 1e-6 * (1 + simulated_us)) << seed;
  }
}

TEST(StepMessages, ReadBackEqual) {
  const StepSeries series{.us = {1.5, 2},
                          .preemptions = {0, 3},
                          .parts = {.op_us = {0.1, kNone}, .copies = {{.op = 1, .output = 2, .to = 3, .us = 4.25}}},
                          .replayed_us = 0.75};
  const StepSeries back = StepSeriesFromJson(nlohmann::json::parse(StepSeriesToJson(series).dump()));
  EXPECT_EQ(back.us, series.us);
  EXPECT_EQ(back.preemptions, series.preemptions);
  EXPECT_EQ(back.replayed_us, 0.75);
  ASSERT_EQ(back.parts.op_us.size(), 2U);
  EXPECT_EQ(back.parts.op_us[0], 0.1);
  EXPECT_TRUE(std::isnan(back.parts.op_us[1]));
  ASSERT_EQ(back.parts.copies.size(), 1U);
  EXPECT_EQ(back.parts.copies[0].us, 4.25);
  EXPECT_EQ(back.parts.copies[0].output, 2);
  const StepSeries none = StepSeriesFromJson(nlohmann::json::parse(StepSeriesToJson({}).dump()));
  EXPECT_TRUE(none.us.empty());
}

}  // namespace
}  // namespace emplace
