#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

void BackwardAdd(GradientSink& sink) {
  if (sink.Needs(0)) sink.Give(0, sink.output_grad());
  if (!sink.Needs(1)) return;
  const TensorProgram& program = sink.program();
  const bool to_every_row =
      program.tensor(sink.node().inputs[1]).shape.size() < program.tensor(sink.output_grad()).shape.size();
  sink.Give(1, to_every_row ? sink.Emit("row", "aten.sum", {sink.output_grad()}) : sink.output_grad());
}

void BackwardSub(GradientSink& sink) {
  if (sink.Needs(0)) sink.Give(0, sink.output_grad());
  if (sink.Needs(1)) sink.Give(1, sink.Emit("neg", "aten.neg", {sink.output_grad()}));
}

void BackwardMul(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  for (size_t i = 0; i < 2; ++i) {
    if (!sink.Needs(i)) continue;
    sink.Give(i, sink.Emit(i == 0 ? "mul_a" : "mul_b", "aten.mul", {sink.output_grad(), node.inputs[1 - i]}));
  }
}

void BackwardDiv(GradientSink& sink) {
  sink.Give(0, sink.Emit("div", "aten.div", {sink.output_grad()}, sink.node().attributes));
}

OpRule Row(const std::string& type, std::function<double(const OpCall&)> flops,
           std::function<void(GradientSink&)> backward = {}) {
  return {type, OpClass::kElementwise, SameAs0, std::move(flops), AllBytes, std::move(backward)};
}

}  // namespace

std::vector<OpRule> ElementwiseRules() {
  return {
      Row("aten.add", Elements, BackwardAdd),  // The second may be one row [C], which goes to every row of the first.
      Row("aten.sub", Elements, BackwardSub),
      Row("aten.mul", Elements, BackwardMul),
      Row("aten.div", Elements, BackwardDiv),  // By a number, `divisor`.
      Row("aten.neg", Elements),
      Row("aten.sigmoid", PerElement<4>, FromOutput("aten.sigmoid_backward")),
      Row("aten.sigmoid_backward", PerElement<3>),
      Row("aten.tanh", PerElement<6>, FromOutput("aten.tanh_backward")),
      Row("aten.tanh_backward", PerElement<3>),
      Row("aten.relu", Elements, FromOutput("aten.threshold_backward")),
      Row("aten.threshold_backward", Elements),
  };
}

}  // namespace emplace
