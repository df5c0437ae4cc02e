// Simulated peaks of memory against what LibTorch allocates for each device in a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "actor/hardware/executor.h"
#include "common/rng.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/families/cifar10.h"
#include "simulator/families/lower.h"
#include "simulator/families/ptb.h"
#include "simulator/families/training_step.h"
#include "simulator/families/transformer_xl.h"
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
  const TransformerXlModel transformer = {.layers = 2,
                                          .width = 64,
                                          .heads = 4,
                                          .head_width = 16,
                                          .inner = 128,
                                          .batch = 4,
                                          .segment = 32,
                                          .memory = 32,
                                          .vocabulary = 300};
  return {Lowered(BuildPtb(ptb, options)), Lowered(BuildCifar10(cifar10, options)),
          Lowered(BuildTransformerXl(transformer, options))};
}

// The first part of the ops, by a topological order, on the first device, and the rest on the second one; ops of one
// group where its first one is.
Placement InTwoParts(const OpGraph& graph, double share) {
  Placement placement(static_cast<size_t>(graph.num_ops()));
  std::map<std::string, DeviceIndex> of_group;
  size_t done = 0;
  for (const OpIndex op : graph.topological_order()) {
    const DeviceIndex device = static_cast<double>(done++) < share * static_cast<double>(graph.num_ops()) ? 0 : 1;
    const std::string& group = graph.op(op).group;
    placement[static_cast<size_t>(op)] = group.empty() ? device : of_group.try_emplace(group, device).first->second;
  }
  return placement;
}

DeviceOrders RandomOrdersOf(Rng& rng, const OpGraph& graph, const Cluster& cluster, const Placement& placement) {
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Simulator simulator(sim);
  simulator.SetPriority(RandomPriority(rng, graph.num_ops()));
  simulator.Makespan(placement);
  return simulator.StartOrders();
}

// Devices take their turns at other times than simulated, so what both hold at a time differs a little; on one device
// nothing but operators' own workspaces does.
TEST(ExecutorMemory, IsWhatTheSimulatorPredicts) {
  constexpr double kTolerance = 0.05;
  const Cluster cluster = Cpus();
  for (const int64_t microbatches : {1, 4}) {
    for (const OpGraph& graph : Graphs(microbatches)) {
      for (const double share : {1.0, 0.5}) {
        const Placement placement = InTwoParts(graph, share);
        Rng rng(7);
        for (const DeviceOrders& orders : {DeviceOrders(), RandomOrdersOf(rng, graph, cluster, placement)}) {
          Executor executor(graph, cluster, {placement, orders});
          const std::vector<int64_t> measured = executor.StepPeakBytes();
          for (size_t device = 0; device < measured.size(); ++device) {
            const auto predicted = static_cast<double>(executor.predicted().peak_bytes[device]);
            EXPECT_NEAR(static_cast<double>(measured[device]), predicted, kTolerance * predicted)
                << graph.num_ops() << " ops, " << microbatches << " micro-batches, share " << share
                << (orders.empty() ? "" : ", with orders") << ", device " << device;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace emplace
