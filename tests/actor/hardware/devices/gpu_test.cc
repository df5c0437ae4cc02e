// Steps on this computer's GPUs. Tests skip themselves where it has too few.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "actor/hardware/devices/local_gpus.h"
#include "actor/hardware/executor.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "tests/actor/hardware/grouped_placement.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

Cluster MachineOf(const std::vector<std::string>& names) {
  Cluster cluster{.devices = {}, .op_overhead_us = 1, .bandwidth_bytes_per_us = 1000};
  for (const std::string& name : names) {
    cluster.devices.push_back({name, name.substr(0, name.find(':')), int64_t{1} << 40});
  }
  return cluster;
}

OpGraph Captured(const std::string& name) { return LoadGraph(std::filesystem::path(EMPLACE_TEST_GRAPHS) / name); }

Placement DrawnPlacement(uint64_t seed, const OpGraph& graph, const Cluster& cluster) {
  Rng rng(seed);
  return GroupedPlacement(rng, graph, cluster);
}

Placement AllOnFirst(const OpGraph& graph) { return Placement(static_cast<size_t>(graph.num_ops())); }

// The largest difference of f32 results, relative to the largest number of each; expects other results to be equal.
double LargestDifference(const OpGraph& graph, const Executor& a, const Executor& b) {
  double largest = 0;
  EXPECT_EQ(a.program().results, b.program().results);
  for (const OpIndex op : a.program().results) {
    for (size_t output = 0; output < graph.op(op).outputs.size(); ++output) {
      const std::vector<std::byte> x = a.Bytes(op, static_cast<int32_t>(output));
      const std::vector<std::byte> y = b.Bytes(op, static_cast<int32_t>(output));
      EXPECT_EQ(x.size(), y.size());
      if (graph.op(op).outputs[output].dtype != "f32") {
        EXPECT_EQ(x, y) << graph.op(op).name;
        continue;
      }
      double scale = 0;
      double difference = 0;
      for (size_t at = 0; at + sizeof(float) <= std::min(x.size(), y.size()); at += sizeof(float)) {
        float from_a = 0;
        float from_b = 0;
        std::memcpy(&from_a, &x[at], sizeof(float));
        std::memcpy(&from_b, &y[at], sizeof(float));
        scale = std::max(scale, std::abs(static_cast<double>(from_a)));
        difference = std::max(difference, std::abs(static_cast<double>(from_a) - static_cast<double>(from_b)));
      }
      if (difference > 0) largest = std::max(largest, difference / scale);
    }
  }
  return largest;
}

constexpr double kF32Tolerance = 2e-4;  // Of sums in another order, over a whole training step.

// Why a test that needs so many GPUs cannot be run here; empty: it can.
std::string WhyWithout(int32_t count) {
  const LocalGpus gpus = FindLocalGpus();
  if (!gpus.why_none.empty() || gpus.count >= count) return gpus.why_none;
  return StrCat("needs ", count, count == 1 ? " GPU" : " GPUs", ", this computer has ", gpus.count);
}

#define EMPLACE_SKIP_WITHOUT_GPUS(count) \
  if (const std::string why = WhyWithout(count); !why.empty()) GTEST_SKIP() << why

TEST(Gpus, TheCudaHalfOfLibTorchIsKnownOnceItIsLoaded) {
  // Also after steps on the CPU: LibTorch asks only once whether it is there.
  const OpGraph graph = Captured("mlp.graph.json");
  Executor(graph, MachineOf({"cpu:0"}), {AllOnFirst(graph), {}}).Step();
  EMPLACE_SKIP_WITHOUT_GPUS(0);
  EXPECT_TRUE(at::globalContext().hasCUDART());
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
}

TEST(Gpus, AnOperatorThatOnlyCpusHaveIsRefused) {
  EMPLACE_SKIP_WITHOUT_GPUS(0);
  Op op;
  op.name = "y";
  op.inputs = {{0, 0}};
  op.call_json = R"({"op": "aten.relu.default", "args": [{"in": 0}]})";
  EXPECT_EQ(WhyItCannotRun(op, Processor::kGpu), "");
  op.inputs = {{0, 0}, {0, 1}, {0, 2}};
  op.call_json = R"({"op": "aten._scaled_dot_product_flash_attention_for_cpu.default",
                     "args": [{"in": 0}, {"in": 1}, {"in": 2}]})";
  EXPECT_EQ(WhyItCannotRun(op, Processor::kCpu), "");
  EXPECT_THAT(WhyItCannotRun(op, Processor::kGpu), HasSubstr("op 'y': call: 'aten._scaled_dot_product"));
}

TEST(Gpus, BesideACpuTheyComputeWhatTheCpuComputes) {
  EMPLACE_SKIP_WITHOUT_GPUS(1);
  const Cluster machine = MachineOf({"cuda:0", "cpu:0"});
  for (const char* name : {"mlp.graph.json", "cnn.graph.json.zst"}) {
    const OpGraph graph = Captured(name);
    Executor reference(graph, MachineOf({"cpu:0"}), {AllOnFirst(graph), {}});
    reference.Step();
    Executor gpu(graph, machine, {AllOnFirst(graph), {}});
    for (int step = 0; step < 3; ++step) gpu.Step();
    EXPECT_LT(LargestDifference(graph, reference, gpu), kF32Tolerance) << name;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Executor mixed(graph, machine, {DrawnPlacement(seed, graph, machine), {}}, {.gpu_times = seed % 2 == 0});
      for (int step = 0; step < 3; ++step) {
        mixed.Step();
        ASSERT_LT(LargestDifference(graph, reference, mixed), kF32Tolerance) << name << " " << seed;
      }
    }
  }
}

TEST(Gpus, TwoGiveTheBitsOfOne) {
  EMPLACE_SKIP_WITHOUT_GPUS(2);
  const Cluster machine = MachineOf({"cuda:0", "cuda:1"});
  for (const char* name : {"mlp.graph.json", "cnn.graph.json.zst"}) {
    const OpGraph graph = Captured(name);
    Executor reference(graph, machine, {AllOnFirst(graph), {}});
    reference.Step();
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Executor executor(graph, machine, {DrawnPlacement(seed, graph, machine), {}});
      for (int step = 0; step < 3; ++step) {
        executor.Step();
        ASSERT_EQ(LargestDifference(graph, reference, executor), 0) << name << " " << seed;
      }
    }
  }
}

TEST(Gpus, TimesOfOpsAreThoseOfTheGpu) {
  EMPLACE_SKIP_WITHOUT_GPUS(1);
  const OpGraph graph = Captured("mlp.graph.json");
  Executor timed(graph, MachineOf({"cuda:0"}), {AllOnFirst(graph), {}});
  Executor untimed(graph, MachineOf({"cuda:0"}), {AllOnFirst(graph), {}}, {.gpu_times = false});
  const StepTimes& times = timed.Step();
  double last_us = -std::numeric_limits<double>::infinity();
  for (const StepInstruction& instruction : timed.program().devices[0]) {
    if (instruction.given) continue;
    const auto op = static_cast<size_t>(instruction.op);
    EXPECT_GE(times.op_begin_us[op], last_us);
    EXPECT_GE(times.op_end_us[op], times.op_begin_us[op]);
    last_us = times.op_end_us[op];
    EXPECT_TRUE(std::isnan(untimed.Step().op_end_us[op]));
  }
}

TEST(Gpus, RefuseWhatTheyCannotDo) {
  EMPLACE_SKIP_WITHOUT_GPUS(1);
  const OpGraph graph = Captured("mlp.graph.json");
  EXPECT_THAT(
      BadInputOf([&] {
        Executor(graph, MachineOf({"cuda:0"}), {AllOnFirst(graph), {}}, {.throttle = {.bandwidth_bytes_per_us = 1}});
      }),
      HasSubstr("device 'cuda:0': a GPU's links cannot be throttled"));
  std::vector<Op> ops = graph.ops();
  ops.front().outputs.front().bytes = int64_t{1} << 50;
  const OpGraph large("large", std::move(ops));
  EXPECT_THAT(BadInputOf([&] {
                Executor(large, MachineOf({"cuda:0"}), {AllOnFirst(large), {}});
              }),
              HasSubstr("device 'cuda:0': the step needs "));
}

}  // namespace
}  // namespace emplace
