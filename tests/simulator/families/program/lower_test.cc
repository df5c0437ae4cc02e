#include "simulator/families/program/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "simulator/engine/simulator.h"
#include "simulator/families/program/backward.h"
#include "simulator/families/program/op_table.h"
#include "simulator/families/workloads/ptb.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

// 1 FLOP per us, 1 byte per us, no launch: the cost of an op is the larger of its FLOPs and bytes.
const DeviceKind kUnit{.name = "unit",
                       .peak_gflops_f32 = 1e-3,
                       .peak_gflops_f16 = 1e-3,
                       .memory_gb_per_s = 1e-3,
                       .launch_us = 0,
                       .efficiency = {}};

const Op& Find(const OpGraph& graph, const std::string& name) {
  return *std::find_if(graph.ops().begin(), graph.ops().end(), [&](const Op& op) { return op.name == name; });
}

// Does `to` have to wait for `from`, over any path?
bool Waits(const OpGraph& graph, OpIndex to, OpIndex from) {
  std::vector<bool> reached(graph.ops().size());
  std::vector<OpIndex> stack = {to};
  while (!stack.empty()) {
    const OpIndex at = stack.back();
    stack.pop_back();
    if (at == from) return true;
    if (reached[static_cast<size_t>(at)]) continue;
    reached[static_cast<size_t>(at)] = true;
    for (const OpInput& input : graph.op(at).inputs) stack.push_back(input.producer);
  }
  return false;
}

TEST(Lower, ReadersOfAPieceDependOnTheWholeAndReadThePiece) {
  TensorProgram program;
  const TensorId a = program.Input("a", {2, 6});
  const TensorId whole = program.Add("whole", "aten.tanh", {a});
  program.Add("reader", "aten.sigmoid", {program.Slice(whole, 1, 0, 3)});
  const OpGraph graph = Lower("g", program, {kUnit});
  ASSERT_EQ(graph.num_ops(), 3);  // The piece is no op.
  EXPECT_EQ(Find(graph, "a").cost.On("unit"), 0);
  // 12 elements at 6 FLOPs are 72; 12 * 4 bytes read and as many written are 96.
  EXPECT_EQ(Find(graph, "whole").flops, 72);
  EXPECT_EQ(Find(graph, "whole").cost.On("unit"), 96);
  EXPECT_EQ(Find(graph, "whole").outputs[0].bytes, 48);  // What a transfer moves.
  // 6 elements: 24 FLOPs; 24 bytes read and 24 written.
  EXPECT_EQ(Find(graph, "reader").cost.On("unit"), 48);
  EXPECT_EQ(Find(graph, "reader").inputs[0].producer, 1);
}

TEST(Lower, ParametersHoldTheirGradientsBufferAndStayWithTheirUpdate) {
  TensorProgram program;
  const TensorId w = program.Parameter("w", {4, 5});
  AddUpdates(program, AddBackward(program, program.Add("y", "aten.tanh", {w})));
  const OpGraph graph = Lower("g", program, {kUnit});
  const Op& parameter = Find(graph, "w");
  EXPECT_EQ(parameter.type, "emplace.parameter");
  EXPECT_EQ(parameter.outputs[0].bytes, 4 * 5 * 4);
  EXPECT_EQ(parameter.param_bytes, 4 * 5 * 4);
  EXPECT_EQ(parameter.cost.On("any kind"), 0);
  EXPECT_EQ(parameter.group, "param:w");
  EXPECT_EQ(Find(graph, "update/w").group, "param:w");
  EXPECT_TRUE(Find(graph, "update/w").outputs.empty());
}

TEST(Lower, OptimizersKeepTheirSlotsBesideTheParameter) {
  constexpr int64_t kBytes = 4 * 5 * 4;
  const std::pair<Optimizer, int64_t> slots[] = {
      {Optimizer::kSgd, 0}, {Optimizer::kMomentum, 1}, {Optimizer::kAdam, 2}};
  for (const auto& [optimizer, count] : slots) {
    TensorProgram program;
    const TensorId w = program.Parameter("w", {4, 5});
    AddUpdates(program, AddBackward(program, program.Add("y", "aten.tanh", {w})), optimizer);
    const OpGraph graph = Lower("g", program, {kUnit});
    EXPECT_EQ(Find(graph, "w").param_bytes, (1 + count) * kBytes);
    // The parameter and its slots are read and written, the gradient read.
    EXPECT_EQ(WorkOf({program, program.nodes().back()}).bytes, (2 * (1 + count) + 1) * kBytes);
  }
}

TEST(Lower, NoUpdateOvertakesAReaderOfItsParameter) {
  Rng rng(7);
  for (int i = 0; i < 5; ++i) {
    const OpGraph graph = Lower("g", BuildPtb(SamplePtb(rng, PtbRanges(/*small=*/true))), {kUnit});
    int updates = 0;
    for (OpIndex parameter = 0; parameter < graph.num_ops(); ++parameter) {
      if (graph.op(parameter).type != kParameterType) continue;
      const std::span<const OpIndex> readers = graph.consumers().Row(parameter);
      const auto update = std::find_if(readers.begin(), readers.end(),
                                       [&](OpIndex reader) { return graph.op(reader).type == "aten.add_"; });
      ASSERT_NE(update, readers.end());
      for (const OpIndex reader : readers) EXPECT_TRUE(Waits(graph, *update, reader)) << graph.op(reader).name;
      ++updates;
    }
    EXPECT_EQ(updates, 1 + 8);
  }
}

TEST(Lower, TheLargestPtbGraphFitsOneK80) {
  PtbModel model;
  model.batch = 64;
  model.hidden = 1024;
  model.steps = 35;
  for (int32_t i = 0; i < 12; ++i) {
    model.parent.push_back(i - 1);
    model.activation.push_back(Activation::kTanh);
  }
  const OpGraph graph = Lower("largest", BuildPtb(model), LoadDeviceKinds(DefaultKindsFolder()));
  const Cluster cluster{.devices = {{.name = "gpu:0", .kind = "k80", .memory_bytes = 11'000'000'000}},
                        .op_overhead_us = 5.7,
                        .bandwidth_bytes_per_us = 7600,
                        .transfer_overhead_us = 25};
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  Simulator simulator(sim);
  const std::vector<DeviceIndex> placement(graph.ops().size(), 0);
  std::vector<int64_t> peak_bytes(1);
  const double makespan_us = simulator.MakespanAndPeak(placement, peak_bytes);
  EXPECT_LT(peak_bytes[0], cluster.devices[0].memory_bytes);
  EXPECT_GT(peak_bytes[0], 2 * 4 * (10000 * 1024 + 13 * 1024 * 2048));  // Weights and their gradients.
  // The products alone, 6 FLOPs a weight, row and step, are the larger half of it; the rest is memory and launches.
  const double weights = 13.0 * 1024 * 2048 + 10000 * 1024;
  const double products_us = 35 * 64 * 6 * weights / (2.8e6 * 0.65);
  EXPECT_GT(makespan_us, products_us);
  EXPECT_LT(makespan_us, 2 * products_us);
}

TEST(Lower, GivesCallsToProgramsThatCanBeRun) {
  Rng rng(1);
  const PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/true));
  const OpGraph plain = Lower("g", BuildPtb(model), {kUnit});
  const OpGraph called = Lower("g", BuildPtb(model, {.runnable = true}), {kUnit});
  ASSERT_EQ(plain.num_ops(), called.num_ops());
  for (OpIndex op = 0; op < plain.num_ops(); ++op) {
    const bool given = plain.op(op).type == kParameterType || plain.op(op).type == kInputType;
    EXPECT_EQ(plain.op(op).call_json, "");
    EXPECT_EQ(called.op(op).call_json.empty(), given) << called.op(op).name;
    EXPECT_EQ(called.op(op).attrs_json.find("\"name\"") != std::string::npos, given);
  }
}

TEST(Lower, RefusesATypeWithoutACall) {
  TensorProgram program(ElementType::kFloat32, /*runnable=*/true);
  const TensorId x = program.Input("x", {1, 3, 8, 8});
  program.Add("elemt", "aten.batch_norm_backward_elemt", {x, x, x, x});
  EXPECT_THAT(BadInputOf([&] { Lower("g", program, {kUnit}); }),
              testing::HasSubstr("op 'elemt': there is no call for its type aten.batch_norm_backward_elemt"));
}

// The statistics of a norm and the places of maxima are outputs that the gradients read. The gradient of a weight is
// the second output of its call.
TEST(Lower, OpsWithCallsReadAndMakeWhatTheOperatorDoes) {
  TensorProgram program(ElementType::kFloat32, /*runnable=*/true);
  const TensorId x = program.Input("x", {2, 3, 8, 8});
  const TensorId made = program.Add("conv", "aten.convolution", {x, program.Parameter("w", {4, 3, 3, 3})});
  const TensorId normal = program.Add("norm", "aten.native_batch_norm", {made, program.Parameter("affine", {2, 4})});
  const TensorId pooled =
      program.Add("pool", "aten.max_pool2d_with_indices", {normal}, {.kernel = {2, 2}, .stride = {2, 2}});
  AddUpdates(program, AddBackward(program, pooled));
  const OpGraph graph = Lower("g", program, {kUnit});

  const Op& norm = Find(graph, "norm");
  ASSERT_EQ(norm.outputs.size(), 3u);  // Mean and 1 / deviation of the 4 channels.
  EXPECT_EQ(norm.outputs[1].shape, (Shape{4}));
  EXPECT_EQ(norm.outputs[2].shape, (Shape{4}));
  ASSERT_EQ(Find(graph, "pool").outputs.size(), 2u);
  EXPECT_EQ(Find(graph, "pool").outputs[1].dtype, "i64");
  EXPECT_EQ(Find(graph, "pool").outputs[1].bytes, 8 * 2 * 4 * 3 * 3);

  const auto input = [&](const std::string& op, size_t i) {
    const OpInput& from = Find(graph, op).inputs.at(i);
    return graph.op(from.producer).name + ":" + std::to_string(from.output);
  };
  EXPECT_EQ(input("grad/pool/max_pool2d_backward", 2), "pool:1");
  EXPECT_EQ(input("grad/norm/norm", 3), "norm:1");
  EXPECT_EQ(input("grad/norm/norm", 4), "norm:2");
  EXPECT_EQ(input("grad/norm/affine", 0), "grad/norm/norm:1");
  EXPECT_EQ(input("grad/norm/affine", 1), "grad/norm/norm:2");
  EXPECT_EQ(input("update/affine", 1), "grad/norm/affine:0");
  EXPECT_EQ(input("grad/conv/weight", 0), "grad/norm/norm:0");
  EXPECT_EQ(input("update/w", 1), "grad/conv/weight:1");
  ASSERT_EQ(Find(graph, "grad/conv/weight").outputs.size(), 2u);
  EXPECT_EQ(Find(graph, "grad/conv/weight").outputs[0].bytes, 0);
  EXPECT_EQ(Find(graph, "grad/conv/weight").outputs[1].shape, (Shape{4, 3, 3, 3}));
}

}  // namespace
}  // namespace emplace
