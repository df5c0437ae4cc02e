// Graphs of the families, run by their calls, against the program that they were made from, run op by op.
#include "simulator/families/family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "actor/hardware/executor.h"
#include "common/rng.h"
#include "simulator/families/program/lower.h"
#include "simulator/families/program/training_step.h"
#include "simulator/families/workloads/amoebanet.h"
#include "simulator/families/workloads/cifar10.h"
#include "simulator/families/workloads/conv_layers.h"
#include "simulator/families/workloads/gnmt.h"
#include "simulator/families/workloads/inception_v3.h"
#include "simulator/families/workloads/nasnet.h"
#include "simulator/families/workloads/nmt.h"
#include "simulator/families/workloads/ptb.h"
#include "simulator/families/workloads/rnnlm.h"
#include "simulator/families/workloads/wavenet.h"
#include "tests/actor/hardware/result_tensor.h"
#include "tests/actor/hardware/two_cpus.h"
#include "tests/simulator/families/program/run_program.h"
#include "tests/simulator/families/workloads/small_networks.h"

namespace emplace {
namespace {

DeviceKind Cpu() {
  for (const DeviceKind& kind : LoadDeviceKinds(DefaultKindsFolder())) {
    if (kind.name == "cpu") return kind;
  }
  return {};
}

using Build = std::function<TensorProgram(const StepOptions& options)>;

// A graph with calls, and an op for each update that reads the gradient again, so that it outlives the step.
struct KeptGradients {
  OpGraph graph;
  std::map<std::string, OpIndex> ops;  // By the names of the updates.
};

KeptGradients KeepGradients(const TensorProgram& program) {
  const OpGraph graph = Lower("g", program, {Cpu()});
  std::vector<Op> ops = graph.ops();
  std::map<std::string, OpIndex> kept_ops;
  for (const Op& update : graph.ops()) {
    if (!update.outputs.empty()) continue;
    const OpInput gradient = update.inputs[1];
    Op kept;
    kept.name = "kept " + update.name;
    kept.inputs = {gradient};
    kept.outputs = {graph.op(gradient.producer).outputs[static_cast<size_t>(gradient.output)]};
    kept.call_json = R"({"op": "aten.alias.default", "args": [{"in": 0}]})";
    kept_ops[update.name] = static_cast<OpIndex>(ops.size());
    ops.push_back(std::move(kept));
  }
  return {OpGraph("g", std::move(ops)), std::move(kept_ops)};
}

// The same graph in double precision.
KeptGradients InDoublePrecision(const KeptGradients& kept) {
  std::vector<Op> ops = kept.graph.ops();
  for (Op& op : ops) {
    for (OpOutput& output : op.outputs) {
      if (output.dtype != "f32") continue;
      output.dtype = "f64";
      output.bytes *= 2;
    }
    op.param_bytes = std::max(op.param_bytes, op.ResidentOutputBytes());
    const size_t dtype = op.call_json.find(R"("f32")");
    if (dtype != std::string::npos) op.call_json.replace(dtype, 5, R"("f64")");
  }
  return {OpGraph("g", std::move(ops)), kept.ops};
}

// Runs a step on one or two devices, in turn one op each, and calls `look` with what it leaves.
void RunOn(int devices, const OpGraph& graph, const std::function<void(const Executor&)>& look) {
  const Cluster cluster = TwoCpus();
  Executor executor(graph, cluster, {devices == 1 ? Placement(graph.ops().size(), 0) : InTurn(graph), {}});
  executor.Step();
  look(executor);
}

std::map<std::string, torch::Tensor> GradientsOf(const KeptGradients& kept, const Executor& executor) {
  std::map<std::string, torch::Tensor> gradients;
  for (const auto& [update, op] : kept.ops) gradients[update] = ResultTensor(kept.graph, executor, op);
  return gradients;
}

// What the step was given, by name.
std::map<std::string, torch::Tensor> GivenOf(const KeptGradients& kept, const Executor& executor) {
  std::map<std::string, torch::Tensor> given;
  for (OpIndex op = 0; op < kept.graph.num_ops(); ++op) {
    if (IsGiven(kept.graph.op(op))) given[kept.graph.op(op).name] = ResultTensor(kept.graph, executor, op);
  }
  // An update has changed its parameter by now: it is made again from the change that was added.
  for (const auto& [update, gradient] : GradientsOf(kept, executor)) {
    given.at(update.substr(std::string("update/").size())) += 0.01 * gradient;
  }
  return given;
}

// The gradients by the calls equal those of a program that cannot be run, op by op, of what the calls were given. They
// are those of a loss that is a sum, so they are `examples` times those of the program's mean.
void ExpectGradientsOf(const TensorProgram& program, const KeptGradients& kept, int64_t examples, double tolerance) {
  RunOn(1, kept.graph, [&](const Executor& executor) {
    const torch::NoGradGuard no_gradients;
    const std::vector<torch::Tensor> values = RunProgram(program, GivenOf(kept, executor));
    const std::map<std::string, torch::Tensor> gradients = GradientsOf(kept, executor);
    size_t updates = 0;
    for (const SymbolicNode& node : program.nodes()) {
      if (node.output >= 0) continue;
      const torch::Tensor expected = static_cast<double>(examples) * values[static_cast<size_t>(node.inputs[1])];
      const torch::Tensor difference = gradients.at(OpName(node)) - expected;
      EXPECT_LT(difference.norm().item<double>(), tolerance * expected.norm().item<double>()) << OpName(node);
      ++updates;
    }
    EXPECT_EQ(updates, gradients.size());
  });
}

void ExpectSameBitsOnTwoDevices(const KeptGradients& kept) {
  std::map<std::string, torch::Tensor> on_one;
  RunOn(1, kept.graph, [&](const Executor& executor) { on_one = GradientsOf(kept, executor); });
  ASSERT_FALSE(on_one.empty());
  RunOn(2, kept.graph, [&](const Executor& executor) {
    for (const auto& [update, gradient] : GradientsOf(kept, executor)) {
      EXPECT_TRUE(torch::equal(gradient, on_one.at(update))) << update;
    }
  });
}

// In double precision: rounding decides which numbers near 0 pass a ReLU, and so which gradients there are.
void ExpectCallsComputeTheProgram(const Build& build, int64_t examples, int64_t microbatches = 1) {
  const KeptGradients kept = KeepGradients(build({.microbatches = microbatches, .runnable = true}));
  ExpectSameBitsOnTwoDevices(kept);
  ExpectGradientsOf(build({.microbatches = microbatches}), InDoublePrecision(kept), examples, 1e-8);
}

TEST(FamilyCalls, PtbComputesItsProgram) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Rng rng(seed);
    PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/true));
    model.hidden = 8;
    model.batch = 6;
    model.vocabulary = 13;
    const Build build = [&](const StepOptions& options) { return BuildPtb(model, options); };
    ExpectCallsComputeTheProgram(build, 6);
    ExpectCallsComputeTheProgram(build, 3, /*microbatches=*/2);
  }
}

TEST(FamilyCalls, GnmtComputesItsProgram) {
  const GnmtModel model{.layers = 3, .hidden = 5, .batch = 3, .steps = 4, .vocabulary = 11};
  ExpectCallsComputeTheProgram([&](const StepOptions& options) { return BuildGnmt(model, options); }, 3);
}

TEST(FamilyCalls, RnnlmComputesItsProgram) {
  const RnnlmModel model{
      .layers = 2, .state = 5, .projection = 3, .batch = 2, .steps = 4, .vocabulary = 11, .sampled = 6};
  ExpectCallsComputeTheProgram([&](const StepOptions& options) { return BuildRnnlm(model, options); }, 2 * 4);
}

TEST(FamilyCalls, NmtComputesItsProgram) {
  const NmtModel model{.layers = 3, .hidden = 5, .batch = 3, .steps = 4, .vocabulary = 11};
  ExpectCallsComputeTheProgram([&](const StepOptions& options) { return BuildNmt(model, options); }, 3);
}

// In the precision of the families, for which LibTorch has other convolutions than for doubles. The strides leave
// pixels over.
TEST(FamilyCalls, ImagesHaveTheirGradientsInSinglePrecision) {
  const Build build = [](const StepOptions& options) {
    return BuildTrainingStep(options, 4, Optimizer::kMomentum, [](TensorProgram& program, int64_t batch) {
      ConvLayers layers(program);
      TensorId x = program.Input("images", {batch, 3, 12, 12});
      x = layers.BatchNorm("bn", layers.Convolution("conv", x, 6, {3, 3}, 2));
      x = layers.Depthwise("depthwise", layers.MaxPool("max", x, 3, 1, 1), 3, 2);
      x = layers.Convolution("pointwise", layers.AveragePool("average", x, 2, 1, 0), 5, {1, 1});
      return layers.Classify("head", x, program.IdInput("labels", {batch}), 7);
    });
  };
  ExpectGradientsOf(build({}), KeepGradients(build({.runnable = true})), 4, 1e-4);
}

TEST(FamilyCalls, Cifar10ComputesItsProgram) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng rng(seed);
    Cifar10Model model = SampleCifar10(rng, Cifar10Ranges(/*small=*/true));
    model.filters = 4;
    model.batch = 4;
    const Build build = [&](const StepOptions& options) { return BuildCifar10(model, options); };
    ExpectCallsComputeTheProgram(build, 4);
    ExpectCallsComputeTheProgram(build, 2, /*microbatches=*/2);
  }
}

TEST(FamilyCalls, InceptionV3ComputesItsProgram) {
  const InceptionV3Model model{.batch = 2, .image = 299, .classes = 5, .divisor = 16};
  ExpectCallsComputeTheProgram([&](const StepOptions& options) { return BuildInceptionV3(model, options); }, 2);
}

TEST(FamilyCalls, NasnetComputesItsProgram) {
  const NasnetModel model{.batch = 2, .image = 99, .repeats = 1, .filters = 8, .stem_filters = 6, .classes = 5};
  ExpectCallsComputeTheProgram([&](const StepOptions& options) { return BuildNasnet(model, options); }, 2);
}

TEST(FamilyCalls, TransformerXlComputesItsProgram) {
  const Build build = [&](const StepOptions& options) { return BuildTransformerXl(kSmallTransformerXl, options); };
  ExpectCallsComputeTheProgram(build, 2 * 5);
  ExpectCallsComputeTheProgram(build, 5, /*microbatches=*/2);
}

TEST(FamilyCalls, WavenetComputesItsProgram) {
  const WavenetModel model{
      .stacks = 2, .stack_layers = 3, .channels = 4, .skip = 3, .levels = 5, .batch = 2, .samples = 12};
  const Build build = [&](const StepOptions& options) { return BuildWavenet(model, options); };
  ExpectCallsComputeTheProgram(build, 2 * 12);
  ExpectCallsComputeTheProgram(build, 12, /*microbatches=*/2);
}

TEST(FamilyCalls, AmoebanetComputesItsProgram) {
  const AmoebanetModel model{.batch = 2, .image = 64, .layers = 3, .filters = 64, .stem_filters = 6, .classes = 5};
  ExpectCallsComputeTheProgram([&](const StepOptions& options) { return BuildAmoebanet(model, options); }, 2);
}

// Of the networks of the SGDP paper those with the fewest layers: more layers are more of the same ops.
TEST(FamilyCalls, OpsOfEveryFamilyCanRun) {
  const std::set<std::string> deeper = {"rnnlm4", "rnnlm8", "gnmt4", "gnmt8", "txl4", "txl8", "wavenet4"};
  for (const std::string& name : FamilyNames()) {
    if (deeper.contains(name)) continue;
    FamilyOptions options = {.family = name, .count = 1, .train = 1, .microbatches = 2, .calls = true};
    if (!IsSingleNetwork(name)) options.size = "small";
    const Family family = GenerateFamily(options, {Cpu()});
    for (const Op& op : family.graphs[0].ops()) ASSERT_EQ(WhyItCannotRun(op, Processor::kCpu), "") << name;
  }
}

}  // namespace
}  // namespace emplace
