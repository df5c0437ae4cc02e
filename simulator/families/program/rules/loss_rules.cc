#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

Shape Scalar(const OpCall& /*call*/) { return {}; }
Shape SameAs1(const OpCall& call) { return call.input(1).shape; }
// All but the first dimension.
Shape RowShape(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  return {shape.begin() + 1, shape.end()};
}

// The probability of each target is read, not all of them.
int64_t LossBytes(const OpCall& call) { return 2 * call.input(1).bytes() + 4; }
// In place: the parameter and its optimizer slots are read and written, the gradient read.
int64_t UpdateBytes(const OpCall& call) {
  return 2 * (1 + call.node.attributes.optimizer_slots) * call.input(0).bytes() + call.input(1).bytes();
}

void BackwardLoss(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  sink.Give(0, sink.Emit("nll_loss_backward", "aten.nll_loss_backward",
                         {sink.output_grad(), node.inputs[0], node.inputs[1]}));
}

}  // namespace

std::vector<OpRule> LossRules() {
  constexpr OpClass kReduction = OpClass::kReduction;
  return {
      {"aten.sum", kReduction, RowShape, PerInputElement<1>, AllBytes},  // Over the first dimension.
      // Over the last dimension.
      {"aten._softmax", kReduction, SameAs0, PerElement<5>, AllBytes, FromOutput("aten._softmax_backward_data")},
      {"aten._softmax_backward_data", kReduction, SameAs0, PerElement<4>, AllBytes},
      {"aten._log_softmax", kReduction, SameAs0, PerElement<5>, AllBytes,
       FromOutput("aten._log_softmax_backward_data")},
      {"aten._log_softmax_backward_data", kReduction, SameAs0, PerElement<4>, AllBytes},
      {"aten.nll_loss_forward", kReduction, Scalar, NoFlops, LossBytes, BackwardLoss},
      // Writes zeros everywhere and one number a row.
      {"aten.nll_loss_backward", kReduction, SameAs1, NoFlops, OutputBytes},
      {"aten.ones_like", OpClass::kElementwise, SameAs0, NoFlops, OutputBytes},
      // Updates in place. SGD: parameter -= rate * gradient. Momentum keeps one slot more, Adam two.
      {"aten.add_", OpClass::kElementwise, {}, PerElement<2>, UpdateBytes},
      {"aten._fused_sgd_", OpClass::kElementwise, {}, PerElement<4>, UpdateBytes},
      {"aten._fused_adam_", OpClass::kElementwise, {}, PerElement<12>, UpdateBytes},
  };
}

}  // namespace emplace
