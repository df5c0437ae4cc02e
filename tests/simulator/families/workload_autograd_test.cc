// Whole workloads, small, on real numbers: every op's shape is what LibTorch computes, and the gradient of every
// parameter is what autograd makes of the forward part.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <set>
#include <string>

#include "simulator/families/cifar10.h"
#include "simulator/families/gnmt.h"
#include "simulator/families/inception_v3.h"
#include "simulator/families/nasnet.h"
#include "simulator/families/nmt.h"
#include "simulator/families/op_table.h"
#include "simulator/families/rnnlm.h"
#include "tests/simulator/families/run_program.h"

namespace emplace {
namespace {

void ExpectAutogradAgrees(const TensorProgram& program, int64_t ids, const std::string& what) {
  at::manual_seed(1);
  at::set_num_threads(1);
  std::map<std::string, torch::Tensor> given;
  TensorId loss = -1;
  std::set<TensorId> parameters;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type == "aten.ones_like") loss = node.inputs[0];
    if (node.type != kParameterType && node.type != kInputType) continue;
    const SymbolicTensor& tensor = program.tensor(node.output);
    if (tensor.type == ElementType::kInt64) {
      given[node.name] = torch::randint(ids, tensor.shape, torch::kInt64);
      continue;
    }
    // Weights of a size that keeps activations about as large as they are.
    const int64_t fan_in = tensor.shape.size() < 2 ? 1 : NumElements(tensor.shape) / tensor.shape[0];
    const double deviation =
        tensor.shape.size() == 4 && tensor.requires_grad ? std::sqrt(2.0 / static_cast<double>(fan_in)) : 0.3;
    given[node.name] = (deviation * torch::randn(tensor.shape, torch::kFloat64)).requires_grad_(tensor.requires_grad);
    if (tensor.requires_grad) parameters.insert(node.output);
  }
  ASSERT_GE(loss, 0);
  const std::vector<torch::Tensor> values = RunProgram(program, given);
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

TEST(WorkloadAutograd, InceptionV3) {
  ExpectAutogradAgrees(BuildInceptionV3({.batch = 2, .image = 299, .classes = 5, .divisor = 16}), 5, "");
}

TEST(WorkloadAutograd, Nasnet) {
  ExpectAutogradAgrees(
      BuildNasnet({.batch = 2, .image = 99, .repeats = 2, .filters = 8, .stem_filters = 6, .classes = 5}), 5, "");
}

}  // namespace
}  // namespace emplace
