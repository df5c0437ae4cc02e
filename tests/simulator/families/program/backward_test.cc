#include "simulator/families/program/backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/error.h"
#include "simulator/families/program/op_table.h"

namespace emplace {
namespace {

int Count(const TensorProgram& program, const std::string& type) {
  return static_cast<int>(std::count_if(program.nodes().begin(), program.nodes().end(),
                                        [&](const SymbolicNode& node) { return node.type == type; }));
}

// The loss of a [2, 3] tensor: its rows against targets.
TensorId Loss(TensorProgram& program, TensorId logits) {
  const TensorId target = program.IdInput("target", {program.tensor(logits).shape[0]});
  return program.Add("nll", "aten.nll_loss_forward",
                     {program.Add("log_softmax", "aten._log_softmax", {logits}), target});
}

TEST(Backward, AProductHasTwoProductsAsGradients) {
  // y [2, 3] = a [2, 4] b [4, 3]: da = dy b^T, db = a^T dy. 2 * 2 * 4 * 3 = 48 FLOPs each.
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      TensorProgram program;
      const TensorId a = program.Parameter("a", transpose_a ? Shape{4, 2} : Shape{2, 4});
      const TensorId b = program.Parameter("b", transpose_b ? Shape{3, 4} : Shape{4, 3});
      const TensorId y = program.Add("y", "aten.mm", {a, b}, {.transpose_a = transpose_a, .transpose_b = transpose_b});
      EXPECT_EQ(program.tensor(y).shape, (Shape{2, 3}));
      const auto gradients = AddBackward(program, Loss(program, y));
      ASSERT_EQ(gradients.size(), 2u);
      for (const auto& [parameter, gradient] : gradients) {
        EXPECT_EQ(program.tensor(parameter).shape, program.tensor(gradient).shape);
        const SymbolicNode& node = program.nodes()[static_cast<size_t>(program.tensor(gradient).node)];
        EXPECT_EQ(RuleOf("aten.mm").flops({program, node}), 48);
      }
    }
  }
}

TEST(Backward, SeveralReadersAddUp) {
  // x is read three times: by mul twice and by add once, so two additions join three gradients.
  TensorProgram program;
  const TensorId x = program.Parameter("x", {2, 3});
  const TensorId square = program.Add("square", "aten.mul", {x, x});
  const auto gradients = AddBackward(program, Loss(program, program.Add("plus", "aten.add", {square, x})));
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(Count(program, "aten.add"), 1 + 2);
}

TEST(Backward, PiecesAreJoinedAgain) {
  // Both halves of y are read, one of them twice: their gradients meet in one cat of y's shape.
  TensorProgram program;
  const TensorId x = program.Parameter("x", {2, 6});
  const TensorId y = program.Add("y", "aten.tanh", {x});
  const TensorId left = program.Slice(y, 1, 0, 3);
  const TensorId right = program.Slice(y, 1, 3, 3);
  const TensorId product = program.Add("product", "aten.mul", {left, right});
  const auto gradients = AddBackward(program, Loss(program, program.Add("sum", "aten.add", {product, left})));
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(program.tensor(gradients[0].second).shape, (Shape{2, 6}));
  EXPECT_EQ(Count(program, "aten.cat"), 1);
}

TEST(Backward, StepsOfASequenceAreStacked) {
  TensorProgram program;
  const TensorId words = program.Parameter("words", {10, 3});
  const TensorId tokens = program.IdInput("tokens", {4, 2});
  const TensorId sequence = program.Add("sequence", "aten.embedding", {words, tokens});
  EXPECT_EQ(program.tensor(sequence).shape, (Shape{4, 2, 3}));
  TensorId sum = program.Slice(sequence, 0, 0, 1, true);
  for (int t = 1; t < 4; ++t) {
    sum = program.Add("sum" + std::to_string(t), "aten.add", {sum, program.Slice(sequence, 0, t, 1, true)});
  }
  const auto gradients = AddBackward(program, Loss(program, sum));
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(program.tensor(gradients[0].second).shape, (Shape{10, 3}));
  EXPECT_EQ(Count(program, "aten.stack"), 1);
  EXPECT_EQ(Count(program, "aten.embedding_dense_backward"), 1);
}

TEST(Backward, WhatNeedsNoGradientGetsNone) {
  TensorProgram program;
  const TensorId given = program.Input("given", {2, 3});
  const TensorId w = program.Parameter("w", {3, 3});
  AddBackward(program, Loss(program, program.Add("y", "aten.mm", {given, w})));
  EXPECT_EQ(Count(program, "aten.mm"), 2);  // The forward one, and that of w alone.
}

TEST(Backward, RulesGiveGradientsOfTheirInputsShapes) {
  // GiveTo checks shapes inside; here the ops on one or two matrices run through it. All rules: op_gradient_test.
  for (const std::string type : {"aten.add", "aten.sub", "aten.mul", "aten.mm", "aten.cat", "aten.div", "aten.sigmoid",
                                 "aten.tanh", "aten.relu", "aten._softmax", "aten._log_softmax"}) {
    const bool binary =
        type == "aten.add" || type == "aten.sub" || type == "aten.mul" || type == "aten.mm" || type == "aten.cat";
    TensorProgram program;
    std::vector<TensorId> inputs = {program.Parameter("a", {3, 3})};
    if (binary) inputs.push_back(program.Parameter("b", {3, 3}));
    const auto gradients = AddBackward(program, Loss(program, program.Add("y", type, inputs)));
    EXPECT_EQ(gradients.size(), inputs.size()) << type;
    for (const auto& [parameter, gradient] : gradients)
      EXPECT_EQ(program.tensor(gradient).shape, (Shape{3, 3})) << type;
  }
}

TEST(Backward, UpdatesStayWithTheirParameter) {
  TensorProgram program;
  const TensorId w = program.Parameter("w", {3, 3});
  AddUpdates(program, AddBackward(program, Loss(program, program.Add("y", "aten.tanh", {w}))));
  const SymbolicNode& update = program.nodes().back();
  EXPECT_EQ(update.type, "aten.add_");
  EXPECT_EQ(update.group, program.nodes()[static_cast<size_t>(program.tensor(w).node)].group);
}

TEST(OpTable, UnknownTypesAreNamed) { EXPECT_THROW(RuleOf("aten.unheard_of"), Error); }

}  // namespace
}  // namespace emplace
