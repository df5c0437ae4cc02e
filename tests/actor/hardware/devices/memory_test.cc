// Simulated peaks of memory against what LibTorch allocates for each device in a step.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actor/hardware/executor.h"
#include "common/rng.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/families/program/lower.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/cifar10.h"
#include "simulator/families/workloads/ptb.h"
#include "simulator/families/workloads/transformer_xl.h"
#include "tests/support/random_priority.h"

namespace emplace {
namespace {

Cluster Cpus() {
  Cluster cluster{.devices = {}, .op_overhead_us = 2, .bandwidth_bytes_per_us = 5000, .transfer_latency_us = 5};
  for (int i = 0; i < 2; ++i) cluster.devices.push_back({StrCat("cpu:", i), "cpu", int64_t{1} << 40});
  return cluster;
}

OpGraph Lowered(const TensorProgram& program) {
  std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  std::erase_if(kinds, [](const DeviceKind& kind) { return kind.name != "cpu"; });
  return Lower("g", program, kinds);
}

std::vector<OpGraph> Graphs(int64_t microbatches) {
  const StepOptions options{.microbatches = microbatches, .runnable = true};
  Rng rng(3);
  PtbModel ptb = SamplePtb(rng, PtbRanges(/*small=*/true));
  ptb.batch = 16;
  ptb.hidden = 96;
  ptb.vocabulary = 500;
  Cifar10Model cifar10 = SampleCifar10(rng, Cifar10Ranges(/*small=*/true));
  cifar10.batch = 8;
  const TransformerXlModel transformer{.layers = 2,
                                       .width = 64,
                                       .heads = 2,
                                       .head_width = 32,
                                       .inner = 128,
                                       .batch = 4,
                                       .segment = 64,
                                       .memory = 64,
                                       .vocabulary = 50};
  return {Lowered(BuildPtb(ptb, options)), Lowered(BuildCifar10(cifar10, options)),
          Lowered(BuildTransformerXl(transformer, options))};
}

DeviceOrders RandomOrdersOf(Rng& rng, const OpGraph& graph, const Cluster& cluster, const Placement& placement) {
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Simulator simulator(sim);
  simulator.SetPriority(RandomPriority(rng, graph.num_ops()));
  simulator.Makespan(placement);
  return simulator.StartOrders();
}

// On one device: what two hold at a time depends on when they take their turns, which is not as simulated.
TEST(ExecutorMemory, IsWhatTheSimulatorPredicts) {
  constexpr double kTolerance = 0.05;  // Operators' own workspaces.
  const Cluster cluster = Cpus();
  for (const int64_t microbatches : {1, 4}) {
    for (const OpGraph& graph : Graphs(microbatches)) {
      const Placement placement(static_cast<size_t>(graph.num_ops()), 0);
      Rng rng(7);
      for (const DeviceOrders& orders : {DeviceOrders(), RandomOrdersOf(rng, graph, cluster, placement)}) {
        Executor executor(graph, cluster, {placement, orders});
        const std::vector<int64_t> measured = executor.StepPeakBytes();
        const auto predicted = static_cast<double>(executor.predicted().peak_bytes[0]);
        EXPECT_NEAR(static_cast<double>(measured[0]), predicted, kTolerance * predicted)
            << graph.num_ops() << " ops, " << microbatches << " micro-batches"
            << (orders.empty() ? "" : ", with orders");
        EXPECT_EQ(measured[1], 0);
      }
    }
  }
}

}  // namespace
}  // namespace emplace
