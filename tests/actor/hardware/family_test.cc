// Graphs of the families, run by their calls, against the program that they were made from, run op by op.
#include <gtest/gtest.h>

#include <map>

#include "actor/hardware/executor.h"
#include "common/rng.h"
#include "simulator/families/lower.h"
#include "simulator/families/nmt.h"
#include "simulator/families/op_table.h"
#include "simulator/families/ptb.h"
#include "tests/actor/hardware/result_tensor.h"
#include "tests/actor/hardware/two_cpus.h"
#include "tests/simulator/families/run_program.h"

namespace emplace {
namespace {

DeviceKind Cpu() {
  for (const DeviceKind& kind : LoadDeviceKinds(DefaultKindsFolder())) {
    if (kind.name == "cpu") return kind;
  }
  return {};
}

// The gradients are those of a loss that is a sum, so they are `examples` times those of the program's mean.
void ExpectCallsComputeTheProgram(const TensorProgram& program, int64_t examples) {
  OpGraph graph = Lower("g", program, {Cpu()}, /*calls=*/true);
  // What the updates add is read again, so that it outlives the step.
  std::vector<Op> ops = graph.ops();
  const auto original = static_cast<int32_t>(ops.size());
  std::map<OpIndex, TensorId> gradients;
  for (int32_t at = 0; at < original; ++at) {
    if (program.nodes()[static_cast<size_t>(at)].output >= 0) continue;
    Op kept;
    kept.name = "kept " + graph.op(at).name;
    kept.inputs = {graph.op(at).inputs[1]};
    kept.outputs = graph.op(graph.op(at).inputs[1].producer).outputs;
    kept.call_json = R"({"op": "aten.alias.default", "args": [{"in": 0}]})";
    gradients[static_cast<OpIndex>(ops.size())] = program.nodes()[static_cast<size_t>(at)].inputs[1];
    ops.push_back(std::move(kept));
  }
  graph = OpGraph("g", std::move(ops));
  const Cluster cluster = TwoCpus();
  Executor executor(graph, cluster, {InTurn(graph), {}});
  executor.Step();
  std::map<std::string, torch::Tensor> given;
  for (OpIndex op = 0; op < original; ++op) {
    if (IsGiven(graph.op(op))) given[graph.op(op).name] = ResultTensor(graph, executor, op);
  }
  // An update has changed its parameter by now: it is made again from the change that was added.
  for (OpIndex op = 0; op < original; ++op) {
    const SymbolicNode& node = program.nodes()[static_cast<size_t>(op)];
    if (node.output >= 0) continue;
    for (const auto& [kept, gradient] : gradients) {
      if (gradient == node.inputs[1])
        given.at(graph.op(graph.op(op).inputs[0].producer).name) += 0.01 * ResultTensor(graph, executor, kept);
    }
  }
  const torch::NoGradGuard no_gradients;
  const std::vector<torch::Tensor> values = RunProgram(program, given);
  ASSERT_FALSE(gradients.empty());
  for (const auto& [kept, gradient] : gradients) {
    const torch::Tensor expected = static_cast<double>(examples) * values[static_cast<size_t>(gradient)];
    const torch::Tensor found = ResultTensor(graph, executor, kept);
    EXPECT_LT((found - expected).norm().item<float>(), 2e-4F * expected.norm().item<float>()) << graph.op(kept).name;
  }
}

TEST(FamilyCalls, PtbComputesItsProgram) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Rng rng(seed);
    PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/true));
    model.hidden = 8;
    model.batch = 6;
    model.vocabulary = 13;
    ExpectCallsComputeTheProgram(BuildPtb(model), 6);
    ExpectCallsComputeTheProgram(BuildPtb(model, {.microbatches = 2}), 3);
  }
}

TEST(FamilyCalls, NmtComputesItsProgram) {
  ExpectCallsComputeTheProgram(BuildNmt({.layers = 3, .hidden = 5, .batch = 3, .steps = 4, .vocabulary = 11}), 3);
}

}  // namespace
}  // namespace emplace
