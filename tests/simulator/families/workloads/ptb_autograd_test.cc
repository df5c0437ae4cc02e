// The ptb program against LibTorch: the same language model, written from the paper's equations and differentiated by
// autograd, gives the same loss, the same gradients and the same FLOPs of matrix products, counted as LibTorch runs
// them.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <set>

#include "simulator/families/program/op_table.h"
#include "simulator/families/workloads/ptb.h"
#include "tests/simulator/families/program/run_program.h"

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
    case Activation::kTanh:
      return torch::tanh(x);
    case Activation::kRelu:
      return torch::relu(x);
    case Activation::kSigmoid:
      return torch::sigmoid(x);
    case Activation::kIdentity:
      break;
  }
  return x;
}

// Random values of the parameters and inputs of BuildPtb(model), by their names there.
std::map<std::string, torch::Tensor> RandomValues(const PtbModel& model, const torch::TensorOptions& options) {
  const int64_t h = model.hidden;
  std::map<std::string, torch::Tensor> values;
  values["embedding"] = torch::randn({model.vocabulary, h}, options).requires_grad_();
  for (size_t i = 0; i < model.parent.size(); ++i) {
    values["w" + std::to_string(i)] = torch::randn({i == 0 ? 2 * h : h, 2 * h}, options).requires_grad_();
  }
  values["h0"] = torch::randn({model.batch, h}, options);
  for (const char* const ids : {"tokens", "targets"}) {
    values[ids] = torch::randint(model.vocabulary, {model.steps, model.batch}, options.dtype(torch::kInt64));
  }
  return values;
}

// The loss, straight from the paper's equations.
torch::Tensor LossByEquations(const PtbModel& model, const std::map<std::string, torch::Tensor>& values) {
  const torch::Tensor& embedding = values.at("embedding");
  const torch::Tensor words = torch::embedding(embedding, values.at("tokens"));
  torch::Tensor hidden = values.at("h0");
  std::vector<torch::Tensor> losses;
  for (int64_t t = 0; t < model.steps; ++t) {
    std::vector<torch::Tensor> s;
    std::vector<bool> used(model.parent.size());
    for (size_t i = 0; i < model.parent.size(); ++i) {
      const torch::Tensor previous = i == 0 ? hidden : s[static_cast<size_t>(model.parent[i])];
      if (i > 0) used[static_cast<size_t>(model.parent[i])] = true;
      const torch::Tensor input = i == 0 ? torch::cat({words[t], hidden}, 1) : previous;
      const auto halves = torch::mm(input, values.at("w" + std::to_string(i))).chunk(2, 1);
      s.push_back(previous + torch::sigmoid(halves[0]) * (Activate(model.activation[i], halves[1]) - previous));
    }
    std::vector<torch::Tensor> unused;
    for (size_t i = 0; i < s.size(); ++i) {
      if (!used[i]) unused.push_back(s[i]);
    }
    hidden = torch::stack(unused).mean(0);
    const torch::Tensor log_probs = torch::log_softmax(torch::mm(hidden, embedding.t()), 1);
    losses.push_back(torch::nll_loss(log_probs, values.at("targets")[t]));
  }
  return torch::stack(losses).mean();
}

// Shapes of the gradients that the updates of a program take.
std::multiset<Shape> GradientShapes(const TensorProgram& program) {
  std::multiset<Shape> shapes;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type == "aten.add_") shapes.insert(program.tensor(node.inputs[1]).shape);
  }
  return shapes;
}

TEST(PtbAutograd, GradientShapesAndFlopsEqualLibTorchs) {
  at::set_num_threads(1);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Rng rng(seed);
    PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/true));
    model.steps = 2;  // All other sizes are as sampled.
    const TensorProgram program = BuildPtb(model);
    double product_flops = 0;
    double flops = 0;
    for (const SymbolicNode& node : program.nodes()) {
      const double of_node = RuleOf(node.type).flops({program, node});
      flops += of_node;
      if (node.type == "aten.mm") product_flops += of_node;
    }

    const std::map<std::string, torch::Tensor> values = RandomValues(model, torch::kFloat32);
    flops_run = 0;
    const auto callback = at::addGlobalCallback(at::RecordFunctionCallback(CountProduct).needsInputs(true));
    LossByEquations(model, values).backward();
    at::removeCallback(callback);

    std::multiset<Shape> torch_shapes;
    for (const auto& [name, value] : values) {
      if (value.requires_grad()) torch_shapes.insert(value.grad().sizes().vec());
    }
    EXPECT_EQ(GradientShapes(program), torch_shapes) << "seed " << seed;
    EXPECT_EQ(product_flops, flops_run) << "seed " << seed;
    // The rest is next to nothing. Its largest part: a weight costs the products 6 B FLOPs a step, and one more to add
    // up the step's gradient; once, two in the update and two to add the embedding's gradient from its two uses.
    const auto steps = static_cast<double>(model.steps);
    const double sums = (steps + 4) / (6 * static_cast<double>(model.batch) * steps);
    EXPECT_GT(flops, flops_run);
    EXPECT_LT(flops, flops_run * (1.005 + sums)) << "seed " << seed;
  }
}

TEST(PtbAutograd, LossAndGradientsEqualLibTorchs) {
  at::manual_seed(1);
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Rng rng(seed);
    PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/seed % 2 == 1));
    model.hidden = 6;  // The structure is what is compared.
    model.batch = 3;
    model.steps = 4;
    model.vocabulary = 20;
    const TensorProgram program = BuildPtb(model);
    std::map<std::string, torch::Tensor> values = RandomValues(model, torch::kFloat64);
    const torch::Tensor loss = LossByEquations(model, values);
    loss.backward();

    const std::vector<torch::Tensor> computed = [&] {
      const torch::NoGradGuard no_grad;
      return RunProgram(program, values);
    }();
    for (const SymbolicNode& node : program.nodes()) {
      if (node.name == "loss") {
        EXPECT_TRUE(torch::allclose(computed[static_cast<size_t>(node.output)], loss, 1e-9)) << "seed " << seed;
      }
      if (node.type != "aten.add_") continue;
      const torch::Tensor& by_autograd = computed[static_cast<size_t>(node.inputs[0])].grad();
      const torch::Tensor& by_rules = computed[static_cast<size_t>(node.inputs[1])];
      EXPECT_TRUE(torch::allclose(by_rules, by_autograd, 1e-7, 1e-10)) << "seed " << seed << " " << node.name;
    }
  }
}

// The batch in three micro-batches: the updates get the sum of the three parts' gradients. The parts are equal, so this
// is three times the gradient of the whole batch's mean loss.
TEST(PtbAutograd, MicrobatchesAddUpToTheGradientOfTheWholeBatch) {
  constexpr int64_t kParts = 3;
  at::manual_seed(2);
  Rng rng(2);
  PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/true));
  model.hidden = 6;
  model.batch = 2 * kParts;
  model.steps = 4;
  model.vocabulary = 20;
  std::map<std::string, torch::Tensor> values = RandomValues(model, torch::kFloat64);
  LossByEquations(model, values).backward();

  const TensorProgram program = BuildPtb(model, {.microbatches = kParts});
  for (const char* const input : {"h0", "tokens", "targets"}) {
    const std::vector<torch::Tensor> parts = values.at(input).chunk(kParts, input == std::string("h0") ? 0 : 1);
    for (size_t part = 0; part < parts.size(); ++part) {
      values[part == 0 ? input : "mb" + std::to_string(part) + "/" + input] = parts[part];
    }
  }
  const std::vector<torch::Tensor> computed = [&] {
    const torch::NoGradGuard no_grad;
    return RunProgram(program, values);
  }();
  int updates = 0;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type != "aten.add_") continue;
    ++updates;
    const torch::Tensor& by_autograd = computed[static_cast<size_t>(node.inputs[0])].grad();
    const torch::Tensor& by_rules = computed[static_cast<size_t>(node.inputs[1])];
    EXPECT_TRUE(torch::allclose(by_rules, kParts * by_autograd, 1e-7, 1e-10)) << node.name;
  }
  EXPECT_EQ(updates, 1 + std::ssize(model.parent));
}

}  // namespace
}  // namespace emplace
