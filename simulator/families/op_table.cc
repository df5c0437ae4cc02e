#include "simulator/families/op_table.h"

#include <map>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// Shapes.

Shape SameAs0(const OpCall& call) { return call.input(0).shape; }
Shape Scalar(const OpCall&) { return {}; }

struct MatrixProduct {
  int64_t m;
  int64_t k;
  int64_t n;
};
MatrixProduct ProductOf(const OpCall& call) {
  const Shape& a = call.input(0).shape;
  const Shape& b = call.input(1).shape;
  EMPLACE_CHECK(a.size() == 2 && b.size() == 2);
  const OpAttributes& flags = call.node.attributes;
  const MatrixProduct product{a[flags.transpose_a ? 1 : 0], a[flags.transpose_a ? 0 : 1], b[flags.transpose_b ? 0 : 1]};
  EMPLACE_CHECK(product.k == b[flags.transpose_b ? 1 : 0]);
  return product;
}
Shape ProductShape(const OpCall& call) {
  const MatrixProduct product = ProductOf(call);
  return {product.m, product.n};
}

Shape Concatenated(const OpCall& call) {
  Shape shape = call.input(0).shape;
  const auto dim = static_cast<size_t>(call.node.attributes.dim);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) shape[dim] += call.input(i).shape[dim];
  return shape;
}

// [ids..., width] rows of the weight [rows, width].
Shape Gathered(const OpCall& call) {
  Shape shape = call.input(1).shape;
  shape.push_back(call.input(0).shape[1]);
  return shape;
}

Shape EmbeddingGradient(const OpCall& call) { return {call.node.attributes.rows, call.input(0).shape.back()}; }

// As torch.stack along a new first dimension.
Shape Stacked(const OpCall& call) {
  Shape shape = call.input(0).shape;
  shape.insert(shape.begin(), static_cast<int64_t>(call.node.inputs.size()));
  return shape;
}

// FLOPs.

double NoFlops(const OpCall&) { return 0; }
double ProductFlops(const OpCall& call) {
  const MatrixProduct p = ProductOf(call);
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.k) * static_cast<double>(p.n);
}
// An update has no output: count its first input.
double Elements(const OpCall& call) {
  const SymbolicTensor& sized = call.node.output >= 0 ? call.output() : call.input(0);
  return static_cast<double>(NumElements(sized.shape));
}
template <int kEach>
double PerElement(const OpCall& call) {
  return kEach * Elements(call);
}

// Bytes.

int64_t OutputBytes(const OpCall& call) { return call.node.output >= 0 ? call.output().bytes() : 0; }
int64_t AllBytes(const OpCall& call) {
  int64_t bytes = OutputBytes(call);
  for (size_t i = 0; i < call.node.inputs.size(); ++i) bytes += call.input(i).bytes();
  return bytes;
}
int64_t NoBytes(const OpCall&) { return 0; }
// The rows that are read, not the whole weight.
int64_t GatherBytes(const OpCall& call) { return 2 * call.output().bytes() + call.input(1).bytes(); }
// In place: the parameter is read and written, the gradient read.
int64_t UpdateBytes(const OpCall& call) { return 2 * call.input(0).bytes() + call.input(1).bytes(); }
// The probability of each target is read, not all of them.
int64_t LossBytes(const OpCall& call) { return 2 * call.input(1).bytes() + 4; }

// Backward rules.

// C = A B, with either operand transposed: dA = dC B^T and dB = A^T dC, each again one product with flags.
void BackwardProduct(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const bool ta = node.attributes.transpose_a;
  const bool tb = node.attributes.transpose_b;
  const TensorId a = node.inputs[0];
  const TensorId b = node.inputs[1];
  const TensorId grad = sink.output_grad();
  if (sink.Needs(0)) {
    sink.Give(0, ta ? sink.Emit("mm_a", "aten.mm", {b, grad}, {.transpose_a = tb, .transpose_b = true})
                    : sink.Emit("mm_a", "aten.mm", {grad, b}, {.transpose_a = false, .transpose_b = !tb}));
  }
  if (sink.Needs(1)) {
    sink.Give(1, tb ? sink.Emit("mm_b", "aten.mm", {grad, a}, {.transpose_a = true, .transpose_b = ta})
                    : sink.Emit("mm_b", "aten.mm", {a, grad}, {.transpose_a = !ta, .transpose_b = false}));
  }
}

void BackwardAdd(GradientSink& sink) {
  for (size_t i = 0; i < 2; ++i) {
    if (sink.Needs(i)) sink.Give(i, sink.output_grad());
  }
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

// Of an activation whose gradient is computed from its output.
std::function<void(GradientSink&)> FromOutput(const std::string& type) {
  return [type](GradientSink& sink) {
    sink.Give(0, sink.Emit(type.substr(type.find('.') + 1), type, {sink.output_grad(), sink.node().output}));
  };
}

// Each input gets its piece of the gradient, as a view.
void BackwardCat(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const auto dim = static_cast<int32_t>(node.attributes.dim);
  int64_t begin = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int64_t length = sink.program().tensor(node.inputs[i]).shape[static_cast<size_t>(dim)];
    if (sink.Needs(i)) sink.Give(i, sink.Slice(sink.output_grad(), dim, begin, length));
    begin += length;
  }
}

void BackwardEmbedding(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const OpAttributes attributes{.rows = sink.program().tensor(node.inputs[0]).shape[0]};
  sink.Give(0, sink.Emit("embedding_dense_backward", "aten.embedding_dense_backward",
                         {sink.output_grad(), node.inputs[1]}, attributes));
}

void BackwardLoss(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  sink.Give(0, sink.Emit("nll_loss_backward", "aten.nll_loss_backward",
                         {sink.output_grad(), node.inputs[0], node.inputs[1]}));
}

std::map<std::string, OpRule> MakeTable() {
  const std::vector<OpRule> rules = {
      //  type, output shape, FLOPs, bytes, backward
      {kParameterType, nullptr, NoFlops, NoBytes, nullptr},
      {kInputType, nullptr, NoFlops, NoBytes, nullptr},
      {"aten.mm", ProductShape, ProductFlops, AllBytes, BackwardProduct},
      {"aten.add", SameAs0, Elements, AllBytes, BackwardAdd},
      {"aten.sub", SameAs0, Elements, AllBytes, BackwardSub},
      {"aten.mul", SameAs0, Elements, AllBytes, BackwardMul},
      {"aten.div", SameAs0, Elements, AllBytes, BackwardDiv},  // By a number, `divisor`.
      {"aten.neg", SameAs0, Elements, AllBytes, nullptr},
      {"aten.sigmoid", SameAs0, PerElement<4>, AllBytes, FromOutput("aten.sigmoid_backward")},
      {"aten.sigmoid_backward", SameAs0, PerElement<3>, AllBytes, nullptr},
      {"aten.tanh", SameAs0, PerElement<6>, AllBytes, FromOutput("aten.tanh_backward")},
      {"aten.tanh_backward", SameAs0, PerElement<3>, AllBytes, nullptr},
      {"aten.relu", SameAs0, Elements, AllBytes, FromOutput("aten.threshold_backward")},
      {"aten.threshold_backward", SameAs0, Elements, AllBytes, nullptr},
      {"aten.cat", Concatenated, NoFlops, AllBytes, BackwardCat},
      {"aten.stack", Stacked, NoFlops, AllBytes, nullptr},
      {"aten.embedding", Gathered, NoFlops, GatherBytes, BackwardEmbedding},
      {"aten.embedding_dense_backward", EmbeddingGradient, Elements, AllBytes, nullptr},
      {"aten._log_softmax", SameAs0, PerElement<5>, AllBytes, FromOutput("aten._log_softmax_backward_data")},
      {"aten._log_softmax_backward_data", SameAs0, PerElement<4>, AllBytes, nullptr},
      {"aten.nll_loss_forward", Scalar, NoFlops, LossBytes, BackwardLoss},
      // Writes zeros everywhere and one number a row.
      {"aten.nll_loss_backward", [](const OpCall& call) { return call.input(1).shape; }, NoFlops, OutputBytes, nullptr},
      {"aten.ones_like", SameAs0, NoFlops, OutputBytes, nullptr},
      {"aten.add_", nullptr, PerElement<2>, UpdateBytes, nullptr},  // SGD: parameter -= rate * gradient.
  };
  std::map<std::string, OpRule> table;
  for (const OpRule& rule : rules) table[rule.type] = rule;
  return table;
}

const std::map<std::string, OpRule>& Table() {
  static const std::map<std::string, OpRule> table = MakeTable();
  return table;
}

}  // namespace

const OpRule& RuleOf(const std::string& type) {
  const auto found = Table().find(type);
  if (found == Table().end()) throw BadInput(StrCat("op type '", type, "' has no row in the op table"));
  return found->second;
}

std::vector<std::string> OpTypes() {
  std::vector<std::string> types;
  for (const auto& [type, rule] : Table()) types.push_back(type);
  return types;
}

}  // namespace emplace
