#include "common/error.h"
#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

// One product, or a batch of them; operands may be stored transposed.
struct MatrixProduct {
  int64_t batch;
  int64_t m;
  int64_t k;
  int64_t n;
};

// `first`: index of the left operand among the inputs.
MatrixProduct ProductOf(const OpCall& call, size_t first) {
  const Shape& a = call.input(first).shape;
  const Shape& b = call.input(first + 1).shape;
  EMPLACE_CHECK(a.size() == b.size() && (a.size() == 2 || a.size() == 3));
  const size_t rows = a.size() - 2;
  const OpAttributes& flags = call.node.attributes;
  const MatrixProduct product{rows == 1 ? a[0] : 1, a[rows + (flags.transpose_a ? 1 : 0)],
                              a[rows + (flags.transpose_a ? 0 : 1)], b[rows + (flags.transpose_b ? 0 : 1)]};
  EMPLACE_CHECK(product.k == b[rows + (flags.transpose_b ? 1 : 0)] && (rows == 0 || a[0] == b[0]));
  return product;
}

template <size_t kFirst>
Shape ProductShape(const OpCall& call) {
  const MatrixProduct p = ProductOf(call, kFirst);
  return call.input(kFirst).shape.size() == 3 ? Shape{p.batch, p.m, p.n} : Shape{p.m, p.n};
}

template <size_t kFirst>
double ProductFlops(const OpCall& call) {
  const MatrixProduct p = ProductOf(call, kFirst);
  return 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.k) *
         static_cast<double>(p.n);
}

// The bias is added to each element.
double AffineFlops(const OpCall& call) { return ProductFlops<1>(call) + Elements(call); }

// C = A B, with either operand transposed: dA = dC B^T and dB = A^T dC, each again one product of `type` with flags.
void GiveProduct(GradientSink& sink, const std::string& type, size_t first) {
  const SymbolicNode& node = sink.node();
  const bool ta = node.attributes.transpose_a;
  const bool tb = node.attributes.transpose_b;
  const TensorId a = node.inputs[first];
  const TensorId b = node.inputs[first + 1];
  const TensorId grad = sink.output_grad();
  if (sink.Needs(first)) {
    sink.Give(first, ta ? sink.Emit("mm_a", type, {b, grad}, {.transpose_a = tb, .transpose_b = true})
                        : sink.Emit("mm_a", type, {grad, b}, {.transpose_a = false, .transpose_b = !tb}));
  }
  if (sink.Needs(first + 1)) {
    sink.Give(first + 1, tb ? sink.Emit("mm_b", type, {grad, a}, {.transpose_a = true, .transpose_b = ta})
                            : sink.Emit("mm_b", type, {a, grad}, {.transpose_a = !ta, .transpose_b = false}));
  }
}

void BackwardProduct(GradientSink& sink) { GiveProduct(sink, sink.node().type, 0); }

void BackwardAffine(GradientSink& sink) {
  if (sink.Needs(0)) sink.Give(0, sink.Emit("bias", "aten.sum", {sink.output_grad()}));
  GiveProduct(sink, "aten.mm", 1);
}

}  // namespace

std::vector<OpRule> MatrixRules() {
  return {
      {"aten.mm", OpClass::kMatmul, ProductShape<0>, ProductFlops<0>, AllBytes, BackwardProduct},
      {"aten.bmm", OpClass::kMatmul, ProductShape<0>, ProductFlops<0>, AllBytes, BackwardProduct},
      // (bias, a, b): the bias goes to every row.
      {"aten.addmm", OpClass::kMatmul, ProductShape<1>, AffineFlops, AllBytes, BackwardAffine},
  };
}

}  // namespace emplace
