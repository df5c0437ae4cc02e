#include <algorithm>

#include "common/error.h"
#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

// (scores [..., Q, K], mask [Q, K]): `fill` where the mask is not 0. In programs that can be run, the mask consists of
// truth values, which aten.ne makes of numbers.
Shape MaskedShape(const OpCall& call) {
  const Shape& scores = call.input(0).shape;
  const Shape& mask = call.input(1).shape;
  EMPLACE_CHECK(mask.size() == 2 && scores.size() >= 2 && std::equal(mask.rbegin(), mask.rend(), scores.rbegin()));
  return scores;
}

// What was replaced has no effect, so its gradient is zero.
void BackwardMaskedFill(GradientSink& sink) {
  sink.Give(0, sink.Emit("masked_fill", "aten.masked_fill", {sink.output_grad(), sink.node().inputs[1]}, {.fill = 0}));
}

// (x [N, C], affine [2, C]: weight and bias as one parameter). The mean and deviation of each row, 2 N numbers that
// ATen hands from the forward to the backward op, are counted with x. ATen has both gradients in one op,
// aten.native_layer_norm_backward, whose output mask asks for one or both; they are two kernels. In a
// program that can be run they are that op, and the numbers are outputs.
void BackwardLayerNorm(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const TensorId x = node.inputs[0];
  const TensorId affine = node.inputs[1];
  if (sink.program().runnable()) {
    GiveNorm(sink, "aten.native_layer_norm_backward");
    return;
  }
  if (sink.Needs(0)) {
    sink.Give(0, sink.Emit("input", "aten.native_layer_norm_backward.input", {sink.output_grad(), x, affine}));
  }
  if (sink.Needs(1)) {
    sink.Give(1, sink.Emit("affine", "aten.native_layer_norm_backward.affine", {sink.output_grad(), x},
                           {.shape = sink.program().tensor(affine).shape}));
  }
}

// Mean and 1 / deviation of each row.
std::vector<SymbolicTensor> RowStatistics(const OpCall& call) {
  SymbolicTensor each = {.shape = call.input(0).shape, .type = call.input(0).type};
  each.shape.back() = 1;
  return {each, each};
}

// The input is read twice: for its mean and deviation, and to be normalized.
int64_t LayerNormBytes(const OpCall& call) { return call.input(0).bytes() + AllBytes(call); }

}  // namespace

std::vector<OpRule> AttentionRules() {
  constexpr OpClass kReduction = OpClass::kReduction;
  return {
      {"aten.masked_fill", OpClass::kElementwise, MaskedShape, NoFlops, AllBytes, BackwardMaskedFill},
      {"aten.ne", OpClass::kElementwise, SameAs0, NoFlops, AllBytes, {}, {}, {}, ElementType::kBool},  // Not 0.
      {"aten.native_layer_norm",
       kReduction,
       SameAs0,
       PerElement<7>,
       LayerNormBytes,
       BackwardLayerNorm,
       {},
       RowStatistics},
      {"aten.native_layer_norm_backward.input", kReduction, SameAs0, PerElement<11>, AllBytes},
      {"aten.native_layer_norm_backward.affine", kReduction, GivenShape, PerInputElement<5>, AllBytes},
      NormGradientRow("aten.native_layer_norm_backward", PerElement<16>),
  };
}

}  // namespace emplace
