#include "simulator/families/tensor_program.h"

#include "common/error.h"
#include "simulator/families/op_table.h"

namespace emplace {

int64_t SizeOf(ElementType type) { return type == ElementType::kFloat32 ? 4 : 8; }

int64_t NumElements(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

TensorId TensorProgram::AddNode(SymbolicNode node, SymbolicTensor output) {
  output.node = static_cast<int32_t>(nodes_.size());
  node.output = static_cast<TensorId>(tensors_.size());
  nodes_.push_back(std::move(node));
  tensors_.push_back(std::move(output));
  return nodes_.back().output;
}

TensorId TensorProgram::Parameter(const std::string& name, const Shape& shape) {
  SymbolicNode node{.name = name, .type = kParameterType, .inputs = {}, .output = -1, .attributes = {}, .group = "param:" + name};
  return AddNode(std::move(node), {.shape = shape, .requires_grad = true});
}

TensorId TensorProgram::Input(const std::string& name, const Shape& shape, ElementType type) {
  return AddNode({.name = name, .type = kInputType, .inputs = {}, .output = -1, .attributes = {}, .group = ""},
                 {.shape = shape, .type = type});
}

TensorId TensorProgram::Add(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
                            const OpAttributes& attributes) {
  SymbolicNode node{.name = name, .type = type, .inputs = inputs, .output = -1, .attributes = attributes, .group = ""};
  SymbolicTensor output;
  output.shape = RuleOf(type).output_shape({*this, node});
  for (const TensorId input : inputs) output.requires_grad = output.requires_grad || tensor(input).requires_grad;
  return AddNode(std::move(node), std::move(output));
}

void TensorProgram::AddUpdate(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs) {
  const std::string& group = nodes_[static_cast<size_t>(tensor(inputs.front()).node)].group;
  nodes_.push_back({.name = name, .type = type, .inputs = inputs, .output = -1, .attributes = {}, .group = group});
}

TensorId TensorProgram::Slice(TensorId id, int32_t dim, int64_t begin, int64_t length, bool drop_dim) {
  SymbolicTensor view = tensor(id);
  const auto d = static_cast<size_t>(dim);
  EMPLACE_CHECK(d < view.shape.size() && begin >= 0 && begin + length <= view.shape[d]);
  if (view.base < 0) {
    view.base = id;
    view.dim = dim;
    view.begin = begin;
  } else {
    // A piece of a piece is a piece of the whole; across another dimension it would not be contiguous.
    EMPLACE_CHECK(view.dim == dim && view.shape.size() == tensor(view.base).shape.size());
    view.begin += begin;
  }
  view.shape[d] = length;
  if (drop_dim) {
    EMPLACE_CHECK(length == 1);
    view.shape.erase(view.shape.begin() + dim);
  }
  tensors_.push_back(std::move(view));
  return static_cast<TensorId>(tensors_.size()) - 1;
}

}  // namespace emplace
