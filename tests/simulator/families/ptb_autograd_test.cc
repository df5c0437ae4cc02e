// The derived backward pass against LibTorch's: the same language model, built and differentiated by autograd, with the
// FLOPs of every matrix product counted as LibTorch runs it.
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <set>

#include "simulator/families/op_table.h"
#include "simulator/families/ptb.h"

namespace emplace {
namespace {

double flops_run = 0;  // By the callback below; the test is single-threaded.

std::unique_ptr<at::ObserverContext> CountProduct(const at::RecordFunction& call) {
  if (std::string(call.name()) != "aten::mm") return nullptr;
  const auto inputs = call.inputs();
  const torch::Tensor a = inputs[0].toTensor();
  const torch::Tensor b = inputs[1].toTensor();
  flops_run += 2.0 * static_cast<double>(a.size(0) * a.size(1) * b.size(1));
  return nullptr;
}

torch::Tensor Activate(Activation activation, const torch::Tensor& x) {
  switch (activation) {
    case Activation::kTanh: return torch::tanh(x);
    case Activation::kRelu: return torch::relu(x);
    case Activation::kSigmoid: return torch::sigmoid(x);
    case Activation::kIdentity: break;
  }
  return x;
}

// Straight from the paper's equations. Returns the parameters, with gradients.
std::vector<torch::Tensor> RunByAutograd(const PtbModel& model) {
  const int64_t h = model.hidden;
  std::vector<torch::Tensor> parameters = {torch::randn({model.vocabulary, h}) * 0.01};
  for (size_t i = 0; i < model.parent.size(); ++i) parameters.push_back(torch::randn({i == 0 ? 2 * h : h, 2 * h}) * 0.01);
  for (torch::Tensor& parameter : parameters) parameter.requires_grad_();
  const torch::Tensor tokens = torch::randint(model.vocabulary, {model.steps, model.batch});
  const torch::Tensor targets = torch::randint(model.vocabulary, {model.steps, model.batch});
  const torch::Tensor words = torch::embedding(parameters[0], tokens);
  torch::Tensor hidden = torch::zeros({model.batch, h});
  torch::Tensor loss = torch::zeros({});
  for (int64_t t = 0; t < model.steps; ++t) {
    std::vector<torch::Tensor> s;
    std::vector<bool> used(model.parent.size());
    for (size_t i = 0; i < model.parent.size(); ++i) {
      const torch::Tensor previous = i == 0 ? hidden : s[static_cast<size_t>(model.parent[i])];
      if (i > 0) used[static_cast<size_t>(model.parent[i])] = true;
      const torch::Tensor input = i == 0 ? torch::cat({words[t], hidden}, 1) : previous;
      const auto halves = torch::mm(input, parameters[i + 1]).chunk(2, 1);
      s.push_back(previous + torch::sigmoid(halves[0]) * (Activate(model.activation[i], halves[1]) - previous));
    }
    std::vector<torch::Tensor> unused;
    for (size_t i = 0; i < s.size(); ++i) {
      if (!used[i]) unused.push_back(s[i]);
    }
    hidden = torch::stack(unused).mean(0);
    const torch::Tensor log_probs = torch::log_softmax(torch::mm(hidden, parameters[0].t()), 1);
    loss = loss + torch::nll_loss(log_probs, targets[t]);
  }
  (loss / model.steps).backward();
  return parameters;
}

TEST(PtbAutograd, GradientShapesAndFlopsEqualLibTorchs) {
  torch::set_num_threads(1);
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Rng rng(seed);
    PtbModel model = SamplePtb(rng, "small");
    model.hidden = 32;  // The structure is what is compared.
    model.batch = 4;
    model.vocabulary = 200;

    const TensorProgram program = BuildPtb(model);
    double flops = 0;
    std::multiset<Shape> shapes;
    for (const SymbolicNode& node : program.nodes()) {
      if (node.type == "aten.mm") flops += RuleOf(node.type).flops({program, node});
      if (node.type == "aten.add_") shapes.insert(program.tensor(node.inputs[1]).shape);
    }

    flops_run = 0;
    const auto callback = at::addGlobalCallback(at::RecordFunctionCallback(CountProduct).needsInputs(true));
    const std::vector<torch::Tensor> parameters = RunByAutograd(model);
    at::removeCallback(callback);

    std::multiset<Shape> torch_shapes;
    for (const torch::Tensor& parameter : parameters) torch_shapes.insert(parameter.grad().sizes().vec());
    EXPECT_EQ(shapes, torch_shapes) << "seed " << seed;
    EXPECT_GT(flops_run, 0);
    EXPECT_NEAR(flops / flops_run, 1, 0.01) << "seed " << seed;
  }
}

}  // namespace
}  // namespace emplace
