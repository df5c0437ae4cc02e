// Whole workloads, small, on real numbers: every op's shape is what LibTorch computes, and the gradient of every
// parameter is what autograd makes of the forward part.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "simulator/families/program/op_table.h"
#include "simulator/families/workloads/amoebanet.h"
#include "simulator/families/workloads/cifar10.h"
#include "simulator/families/workloads/gnmt.h"
#include "simulator/families/workloads/inception_v3.h"
#include "simulator/families/workloads/nasnet.h"
#include "simulator/families/workloads/nmt.h"
#include "simulator/families/workloads/rnnlm.h"
#include "simulator/families/workloads/wavenet.h"
#include "tests/simulator/families/program/run_program.h"
#include "tests/simulator/families/workloads/small_networks.h"

namespace emplace {
namespace {

// Random parameters and inputs by name; ids are 0..ids - 1.
std::map<std::string, torch::Tensor> RandomInputs(const TensorProgram& program, int64_t ids) {
  at::manual_seed(1);
  at::set_num_threads(1);
  std::map<std::string, torch::Tensor> given;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type != kParameterType && node.type != kInputType) continue;
    const SymbolicTensor& tensor = program.tensor(node.output);
    if (node.name == "mask") {  // A position sees all keys up to itself; the last one sees all.
      given[node.name] = torch::ones(tensor.shape, torch::kInt64).triu(tensor.shape[1] - tensor.shape[0] + 1);
      continue;
    }
    if (tensor.type == ElementType::kInt64) {
      given[node.name] = torch::randint(ids, tensor.shape, torch::kInt64);
      continue;
    }
    // Weights of a size that keeps activations about as large as they are.
    const int64_t fan_in = tensor.shape.size() < 2 ? 1 : NumElements(tensor.shape) / tensor.shape[0];
    const double deviation =
        tensor.shape.size() == 4 && tensor.requires_grad ? std::sqrt(2.0 / static_cast<double>(fan_in)) : 0.3;
    given[node.name] = (deviation * torch::randn(tensor.shape, torch::kFloat64)).requires_grad_(tensor.requires_grad);
  }
  return given;
}

void ExpectAutogradAgrees(const TensorProgram& program, int64_t ids, const std::string& what) {
  TensorId loss = -1;
  std::set<TensorId> parameters;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type == "aten.ones_like") loss = node.inputs[0];
    if (node.type == kParameterType) parameters.insert(node.output);
  }
  ASSERT_GE(loss, 0);
  const std::vector<torch::Tensor> values = RunProgram(program, RandomInputs(program, ids));
  values[static_cast<size_t>(loss)].backward();
  for (const SymbolicNode& node : program.nodes()) {
    if (node.output >= 0) continue;
    const torch::Tensor& by_autograd = values[static_cast<size_t>(node.inputs[0])].grad();
    const torch::Tensor& by_rules = values[static_cast<size_t>(node.inputs[1])];
    EXPECT_TRUE(torch::allclose(by_rules, by_autograd, 1e-6, 1e-9)) << what << " " << node.name;
    parameters.erase(node.inputs[0]);
  }
  EXPECT_TRUE(parameters.empty()) << what << ": a parameter has no update";
}

// The output of the node of this name.
torch::Tensor ValueOf(const TensorProgram& program, const std::vector<torch::Tensor>& values, const std::string& name) {
  for (const SymbolicNode& node : program.nodes()) {
    if (node.name == name) return values[static_cast<size_t>(node.output)];
  }
  throw std::out_of_range(name);
}

TEST(WorkloadAutograd, Cifar10) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng rng(seed);
    Cifar10Model model = SampleCifar10(rng, Cifar10Ranges(/*small=*/true));
    model.filters = 4;
    model.batch = 2;
    ExpectAutogradAgrees(BuildCifar10(model), model.classes, "seed " + std::to_string(seed));
  }
}

TEST(WorkloadAutograd, Nmt) {
  for (int64_t layers = 2; layers <= 4; ++layers) {
    const NmtModel model{.layers = layers, .hidden = 5, .batch = 3, .steps = 4, .vocabulary = 11};
    ExpectAutogradAgrees(BuildNmt(model), model.vocabulary, std::to_string(layers) + " layers");
  }
}

TEST(WorkloadAutograd, Rnnlm) {
  for (int64_t layers = 1; layers <= 3; ++layers) {
    const RnnlmModel model{
        .layers = layers, .state = 5, .projection = 3, .batch = 2, .steps = 4, .vocabulary = 11, .sampled = 6};
    // Ids up to 6: the labels are rows of the scores, [1 + 6], for this test any of them.
    ExpectAutogradAgrees(BuildRnnlm(model), model.sampled, std::to_string(layers) + " layers");
  }
}

TEST(WorkloadAutograd, Gnmt) {
  for (int64_t layers = 2; layers <= 4; ++layers) {
    const GnmtModel model{.layers = layers, .hidden = 5, .batch = 3, .steps = 4, .vocabulary = 11};
    ExpectAutogradAgrees(BuildGnmt(model), model.vocabulary, std::to_string(layers) + " layers");
  }
}

TEST(WorkloadAutograd, TransformerXl) {
  ExpectAutogradAgrees(BuildTransformerXl(kSmallTransformerXl), kSmallTransformerXl.vocabulary, "");
}

// The score of query i and key j is (q_i + u) k_j + (q_i + v) r_(M + i - j), equation 3 of section 3.3 of Dai et al.
// with M characters in the memory.
TEST(TransformerXl, ScoresGoByTheDistanceOfQueryAndKey) {
  const TransformerXlModel& model = kSmallTransformerXl;
  const TensorProgram program = BuildTransformerXl(model);
  const std::vector<torch::Tensor> values = RunProgram(program, RandomInputs(program, model.vocabulary));
  const auto value = [&](const std::string& name) { return ValueOf(program, values, "l0/attention/" + name); };
  const int64_t keys = model.memory + model.segment;
  const torch::Tensor query = value("query").view({model.batch, model.segment, model.heads, model.head_width});
  const torch::Tensor key_value = value("key_value").view({model.batch, keys, 2, model.heads, model.head_width});
  const torch::Tensor position = value("position").view({keys, model.heads, model.head_width});  // Longest first.
  const torch::Tensor u = value("content_bias").view({model.heads, model.head_width});
  const torch::Tensor v = value("distance_bias").view({model.heads, model.head_width});
  const torch::Tensor scores = value("scale").view({model.heads, model.batch, model.segment, keys});
  const torch::Tensor weights = value("weights").view({model.heads, model.batch, model.segment, keys});
  for (int64_t h = 0; h < model.heads; ++h) {
    for (int64_t b = 0; b < model.batch; ++b) {
      for (int64_t i = 0; i < model.segment; ++i) {
        for (int64_t j = 0; j < keys; ++j) {
          const int64_t distance = model.memory + i - j;
          if (distance < 0) {
            EXPECT_EQ(weights[h][b][i][j].item<double>(), 0);
            continue;
          }
          const torch::Tensor q = query[b][i][h];
          const torch::Tensor by_content = torch::dot(q + u[h], key_value[b][j][0][h]);
          const torch::Tensor by_distance = torch::dot(q + v[h], position[keys - 1 - distance][h]);
          const double expected = (by_content + by_distance).item<double>() / std::sqrt(model.head_width);
          EXPECT_NEAR(scores[h][b][i][j].item<double>(), expected, 1e-12);
        }
      }
    }
  }
}

TEST(WorkloadAutograd, Wavenet) {
  const WavenetModel model{
      .stacks = 2, .stack_layers = 3, .channels = 4, .skip = 3, .levels = 5, .batch = 2, .samples = 12};
  ExpectAutogradAgrees(BuildWavenet(model), model.levels, "");
}

// Van den Oord et al. 2016, section 2.1: a stack with dilations 1, 2, ..., 512 sees 1,024 samples, and so in general a
// stack of n layers 2^n. The first convolution adds one more.
TEST(Wavenet, ASampleSeesTheReceptiveFieldAndNothingLater) {
  for (const int64_t stacks : {1, 2}) {
    const WavenetModel model{.stacks = stacks,
                             .stack_layers = 3,
                             .channels = 4,
                             .skip = 16,  // Enough that some pass the ReLUs.
                             .levels = 5,
                             .batch = 1,
                             .samples = 30};
    const TensorProgram program = BuildWavenet(model);
    std::map<std::string, torch::Tensor> given = RandomInputs(program, model.levels);
    torch::Tensor& waveform = given.at("waveform");
    waveform.requires_grad_(true);
    const int64_t at = 25;
    ValueOf(program, RunProgram(program, given), "head/by_sample")[0][at].sum().backward();
    const torch::Tensor seen = waveform.grad().abs().sum({0, 1, 3}) > 0;  // [samples]
    const int64_t field = stacks * ((1 << model.stack_layers) - 1) + 1 + 1;
    for (int64_t t = 0; t < model.samples; ++t) {
      EXPECT_EQ(seen[t].item<bool>(), t <= at && t > at - field) << stacks << " stacks, sample " << t;
    }
  }
}

TEST(WorkloadAutograd, Amoebanet) {
  ExpectAutogradAgrees(
      BuildAmoebanet({.batch = 2, .image = 64, .layers = 3, .filters = 16, .stem_filters = 6, .classes = 5}), 5, "");
}

TEST(WorkloadAutograd, InceptionV3) {
  ExpectAutogradAgrees(BuildInceptionV3({.batch = 2, .image = 299, .classes = 5, .divisor = 16}), 5, "");
}

TEST(WorkloadAutograd, Nasnet) {
  ExpectAutogradAgrees(
      BuildNasnet({.batch = 2, .image = 99, .repeats = 2, .filters = 8, .stem_filters = 6, .classes = 5}), 5, "");
}

}  // namespace
}  // namespace emplace
