#include "common/error.h"
#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

Shape Concatenated(const OpCall& call) {
  Shape shape = call.input(0).shape;
  const auto dim = static_cast<size_t>(call.node.attributes.dim);
  for (size_t i = 1; i < call.node.inputs.size(); ++i) shape[dim] += call.input(i).shape[dim];
  return shape;
}

// Along a new dimension.
Shape Stacked(const OpCall& call) {
  Shape shape = call.input(0).shape;
  shape.insert(shape.begin() + call.node.attributes.dim, static_cast<int64_t>(call.node.inputs.size()));
  return shape;
}

// [ids..., width] rows of the weight [rows, width].
Shape Gathered(const OpCall& call) {
  Shape shape = call.input(1).shape;
  shape.push_back(call.input(0).shape[1]);
  return shape;
}

Shape EmbeddingGradient(const OpCall& call) { return {call.node.attributes.rows, call.input(0).shape.back()}; }

// The rows that are read, not the whole weight.
int64_t GatherBytes(const OpCall& call) { return 2 * call.output().bytes() + call.input(1).bytes(); }

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

void BackwardStack(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const auto dim = static_cast<int32_t>(node.attributes.dim);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (sink.Needs(i)) sink.Give(i, sink.Slice(sink.output_grad(), dim, static_cast<int64_t>(i), 1, /*drop_dim=*/true));
  }
}

// The last two dimensions, [..., H, W], with rows and columns of zeros added or with some cut off.
Shape Padded(const OpCall& call) {
  Shape shape = call.input(0).shape;
  EMPLACE_CHECK(shape.size() >= 2);
  const auto& [left, right, top, bottom] = call.node.attributes.pad;
  shape[shape.size() - 1] += left + right;
  shape[shape.size() - 2] += top + bottom;
  return shape;
}

// What was added is cut off; what was cut off had no effect, so its gradient is zero.
void BackwardPad(GradientSink& sink) {
  std::array<int64_t, 4> pad = sink.node().attributes.pad;
  for (int64_t& size : pad) size = -size;
  sink.Give(0, sink.Emit("pad", "aten.constant_pad_nd", {sink.output_grad()}, {.pad = pad}));
}

Shape Permuted(const OpCall& call) {
  const Shape& from = call.input(0).shape;
  EMPLACE_CHECK(call.node.attributes.dims.size() == from.size());
  Shape shape;
  for (const int64_t dim : call.node.attributes.dims) shape.push_back(from.at(static_cast<size_t>(dim)));
  return shape;
}

void BackwardPermute(GradientSink& sink) {
  const Shape& dims = sink.node().attributes.dims;
  Shape inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inverse[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
  sink.Give(0, sink.Emit("permute", "aten.permute_copy", {sink.output_grad()}, {.dims = inverse}));
}

void BackwardEmbedding(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const OpAttributes attributes{.rows = sink.program().tensor(node.inputs[0]).shape[0]};
  sink.Give(0, sink.Emit("embedding_dense_backward", "aten.embedding_dense_backward",
                         {sink.output_grad(), node.inputs[1]}, attributes));
}

}  // namespace

std::vector<OpRule> LayoutRules() {
  return {
      {kParameterType, OpClass::kResident, {}, NoFlops, NoBytes},
      {kInputType, OpClass::kResident, {}, NoFlops, NoBytes},
      {"aten.cat", OpClass::kElementwise, Concatenated, NoFlops, AllBytes, BackwardCat},
      {"aten.stack", OpClass::kElementwise, Stacked, NoFlops, AllBytes, BackwardStack},
      {"aten.constant_pad_nd", OpClass::kElementwise, Padded, NoFlops, AllBytes, BackwardPad},
      {"aten.permute_copy", OpClass::kElementwise, Permuted, NoFlops, AllBytes, BackwardPermute},
      {"aten.embedding", OpClass::kGather, Gathered, NoFlops, GatherBytes, BackwardEmbedding},
      {"aten.embedding_dense_backward", OpClass::kGather, EmbeddingGradient, Elements, AllBytes},
  };
}

}  // namespace emplace
