// Every backward rule of the op table against LibTorch: the gradients that our ops compute equal those of autograd.
#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "simulator/families/program/backward.h"
#include "simulator/families/program/op_table.h"
#include "tests/simulator/families/program/run_program.h"

namespace emplace {
namespace {

// An op on parameters and inputs; several for a type where its settings matter.
struct Example {
  std::string type;
  std::function<TensorId(TensorProgram&)> build;
};

Example Elementwise(const std::string& type, int inputs, const OpAttributes& attributes = {}) {
  return {type, [=](TensorProgram& p) {
            std::vector<TensorId> from;
            for (int i = 0; i < inputs; ++i) from.push_back(p.Parameter("p" + std::to_string(i), {3, 5}));
            return p.Add("y", type, from, attributes);
          }};
}

Example Product(bool transpose_a, bool transpose_b) {
  return {"aten.mm", [=](TensorProgram& p) {
            const TensorId a = p.Parameter("a", transpose_a ? Shape{4, 3} : Shape{3, 4});
            const TensorId b = p.Parameter("b", transpose_b ? Shape{5, 4} : Shape{4, 5});
            return p.Add("y", "aten.mm", {a, b}, {.transpose_a = transpose_a, .transpose_b = transpose_b});
          }};
}

Example Concatenation(int64_t dim) {
  return {"aten.cat", [=](TensorProgram& p) {
            const TensorId a = p.Parameter("a", {3, 4});
            const TensorId b = p.Parameter("b", dim == 0 ? Shape{2, 4} : Shape{3, 2});
            return p.Add("y", "aten.cat", {a, b, a}, {.dim = dim});
          }};
}

Example Stack(int64_t dim) {
  return {"aten.stack", [=](TensorProgram& p) {
            const TensorId a = p.Parameter("a", {3, 4});
            return p.Add("y", "aten.stack", {a, p.Parameter("b", {3, 4}), a}, {.dim = dim});
          }};
}

Example BatchedProduct(bool transpose_a, bool transpose_b) {
  return {"aten.bmm", [=](TensorProgram& p) {
            const TensorId a = p.Parameter("a", transpose_a ? Shape{2, 4, 3} : Shape{2, 3, 4});
            const TensorId b = p.Parameter("b", transpose_b ? Shape{2, 5, 4} : Shape{2, 4, 5});
            return p.Add("y", "aten.bmm", {a, b}, {.transpose_a = transpose_a, .transpose_b = transpose_b});
          }};
}

Example Convolution(const Shape& weight, const OpAttributes& attributes) {
  return {"aten.convolution", [=](TensorProgram& p) {
            const TensorId x = p.Parameter("x", {2, 3, 6, 7});
            return p.Add("y", "aten.convolution", {x, p.Parameter("weight", weight)}, attributes);
          }};
}

Example OnImages(const std::string& type, const OpAttributes& attributes) {
  return {type, [=](TensorProgram& p) { return p.Add("y", type, {p.Parameter("x", {2, 3, 6, 7})}, attributes); }};
}

std::vector<Example> Examples() {
  return {
      Product(false, false),
      Product(false, true),
      Product(true, false),
      Product(true, true),
      Elementwise("aten.add", 2),
      Elementwise("aten.sub", 2),
      Elementwise("aten.mul", 2),
      Elementwise("aten.div", 1, {.divisor = 7}),
      Elementwise("aten.sigmoid", 1),
      Elementwise("aten.tanh", 1),
      Elementwise("aten.relu", 1),
      Elementwise("aten._log_softmax", 1),
      Concatenation(0),
      Concatenation(1),
      Stack(0),
      Stack(1),
      BatchedProduct(false, false),
      BatchedProduct(false, true),
      BatchedProduct(true, false),
      BatchedProduct(true, true),
      {"aten.addmm",
       [](TensorProgram& p) {
         const TensorId bias = p.Parameter("bias", {5});
         return p.Add("y", "aten.addmm", {bias, p.Parameter("a", {3, 4}), p.Parameter("b", {4, 5})});
       }},
      {"aten.add",
       [](TensorProgram& p) {
         return p.Add("y", "aten.add", {p.Parameter("a", {3, 5}), p.Parameter("row", {5})});
       }},
      {"aten.masked_fill",
       [](TensorProgram& p) {
         const TensorId scores = p.Parameter("scores", {2, 3, 5});
         return p.Add("y", "aten.masked_fill", {scores, p.IdInput("mask", {3, 5})}, {.fill = -2});
       }},
      {"aten.native_layer_norm",
       [](TensorProgram& p) {
         return p.Add("y", "aten.native_layer_norm", {p.Parameter("x", {4, 6}), p.Parameter("affine", {2, 6})});
       }},
      Elementwise("aten._softmax", 1),
      // A layer that keeps the size; strides that leave pixels over; unlike height and width; channels that do not mix.
      Convolution({4, 3, 3, 3}, {.stride = {1, 1}, .padding = {1, 1}}),
      Convolution({4, 3, 3, 3}, {.stride = {2, 2}, .padding = {0, 0}}),
      Convolution({2, 3, 1, 5}, {.stride = {1, 2}, .padding = {0, 2}}),
      Convolution({3, 1, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}, .channel_groups = 3}),
      Convolution({4, 3, 2, 3}, {.stride = {1, 2}, .padding = {1, 0}, .dilation = {4, 2}}),
      {"aten.convolution",
       [](TensorProgram& p) {
         const TensorId x = p.Parameter("x", {2, 3, 6, 7});
         return p.Add("y", "aten.convolution", {x, p.Parameter("weight", {4, 3, 2, 1}), p.Parameter("bias", {4})});
       }},
      {"aten.native_batch_norm",
       [](TensorProgram& p) {
         const TensorId x = p.Parameter("x", {4, 3, 2, 5});
         return p.Add("y", "aten.native_batch_norm", {x, p.Parameter("affine", {2, 3})});
       }},
      OnImages("aten.avg_pool2d", {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}}),
      OnImages("aten.avg_pool2d", {.kernel = {5, 5}, .stride = {3, 3}}),
      OnImages("aten.max_pool2d_with_indices", {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}),
      OnImages("aten.max_pool2d_with_indices", {.kernel = {2, 3}, .stride = {2, 1}}),
      OnImages("aten.constant_pad_nd", {.pad = {-1, 1, -1, 1}}),
      OnImages("aten.constant_pad_nd", {.pad = {1, 0, -2, 3}}),
      OnImages("aten.permute_copy", {.dims = {2, 0, 3, 1}}),
      {"aten.embedding",
       [](TensorProgram& p) {
         const TensorId rows = p.Parameter("rows", {6, 4});
         return p.Add("y", "aten.embedding", {rows, p.IdInput("ids", {2, 5})});
       }},
      {"aten.nll_loss_forward",
       [](TensorProgram& p) {
         const TensorId log_probs = p.Parameter("log_probs", {5, 6});
         return p.Add("y", "aten.nll_loss_forward", {log_probs, p.IdInput("ids", {5})});
       }},
      // Not ops, but rules of the differentiation: pieces of a tensor, along either dimension and read twice; a square.
      {"pieces",
       [](TensorProgram& p) {
         const TensorId whole = p.Add("whole", "aten.tanh", {p.Parameter("a", {3, 6})});
         const TensorId left = p.Slice(whole, 1, 0, 3);
         const TensorId product = p.Add("product", "aten.mul", {left, p.Slice(whole, 1, 3, 3)});
         return p.Add("y", "aten.sub", {product, left});
       }},
      {"steps",
       [](TensorProgram& p) {
         const TensorId whole = p.Parameter("a", {2, 3, 4});
         const TensorId first = p.Slice(whole, 0, 0, 1, /*drop_dim=*/true);
         const TensorId second = p.Slice(whole, 0, 1, 1, /*drop_dim=*/true);
         return p.Add("y", "aten.mul", {p.Add("d", "aten.sub", {first, second}), second});
       }},
      {"reshape",
       [](TensorProgram& p) {
         const TensorId whole = p.Add("whole", "aten.tanh", {p.Parameter("a", {3, 4})});
         const TensorId flat = p.Reshape(whole, {4, 3});
         return p.Add("y", "aten.mm", {flat, whole});  // Read in both shapes.
       }},
      {"reshaped pieces",
       [](TensorProgram& p) {
         const TensorId a = p.Parameter("a", {3, 1, 4});
         const TensorId both = p.Add("both", "aten.cat", {p.Reshape(a, {3, 4}), p.Parameter("b", {3, 2})}, {.dim = 1});
         return p.Add("y", "aten.tanh", {both});
       }},
      {"square",
       [](TensorProgram& p) {
         const TensorId a = p.Parameter("a", {3, 3});
         return p.Add("y", "aten.add", {p.Add("square", "aten.mm", {a, a}), a});
       }},
  };
}

TEST(OpGradient, EveryRuleComputesWhatAutogradComputes) {
  at::manual_seed(1);
  for (const Example& example : Examples()) {
    TensorProgram program;
    const TensorId y = example.build(program);
    // A random direction: the gradient that reaches the op is not all ones.
    const TensorId direction = program.Input("direction", program.tensor(y).shape);
    const TensorId objective = program.Add("objective", "aten.mul", {y, direction});
    const auto gradients = AddBackward(program, objective);

    std::map<std::string, torch::Tensor> given;
    for (const SymbolicNode& node : program.nodes()) {
      if (node.type != kParameterType && node.type != kInputType) continue;
      const SymbolicTensor& tensor = program.tensor(node.output);
      given[node.name] = tensor.type == ElementType::kInt64
                             ? torch::randint(6, tensor.shape, torch::kInt64)
                             : torch::randn(tensor.shape, torch::kFloat64).requires_grad_(tensor.requires_grad);
    }
    const std::vector<torch::Tensor> values = RunProgram(program, given);
    values[static_cast<size_t>(objective)].sum().backward();

    const auto parameters = std::count_if(program.nodes().begin(), program.nodes().end(),
                                          [](const SymbolicNode& node) { return node.type == kParameterType; });
    EXPECT_EQ(std::ssize(gradients), parameters) << example.type;
    for (const auto& [parameter, gradient] : gradients) {
      const torch::Tensor& by_autograd = values[static_cast<size_t>(parameter)].grad();
      const torch::Tensor& by_rules = values[static_cast<size_t>(gradient)];
      EXPECT_TRUE(torch::allclose(by_rules, by_autograd, 1e-9, 1e-12)) << example.type;
    }
  }
}

TEST(OpGradient, EveryRuleHasAnExample) {
  std::set<std::string> covered;
  for (const Example& example : Examples()) covered.insert(example.type);
  for (const std::string& type : OpTypes()) {
    EXPECT_TRUE(!RuleOf(type).backward || covered.contains(type)) << type;
  }
}

}  // namespace
}  // namespace emplace
