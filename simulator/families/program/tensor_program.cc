#include "simulator/families/program/tensor_program.h"

#include "common/error.h"
#include "common/strings.h"
#include "simulator/families/program/op_table.h"

namespace emplace {
namespace {

constexpr size_t kMostNodes = 1'000'000;  // Of a gigabyte in all.

}  // namespace

int64_t SizeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
      return 2;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kBool:
      return 1;
    case ElementType::kInt64:
      break;
  }
  return 8;
}

const char* NameOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
      return "f16";
    case ElementType::kFloat32:
      return "f32";
    case ElementType::kBool:
      return "bool";
    case ElementType::kInt64:
      break;
  }
  return "i64";
}

int64_t NumElements(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

std::string OpName(const SymbolicNode& node) {
  return node.microbatch == 0 ? node.name : StrCat("mb", node.microbatch, "/", node.name);
}

TensorId TensorProgram::AddNode(SymbolicNode node, SymbolicTensor output) {
  if (nodes_.size() >= kMostNodes) {
    throw BadInput(StrCat("sizes come to a network of more than ", kMostNodes, " ops, expected smaller ones"));
  }
  node.stage = stage_;
  node.microbatch = microbatch_;
  output.node = static_cast<int32_t>(nodes_.size());
  node.output = static_cast<TensorId>(tensors_.size());
  nodes_.push_back(std::move(node));
  tensors_.push_back(std::move(output));
  return nodes_.back().output;
}

TensorId TensorProgram::Parameter(const std::string& name, const Shape& shape) {
  if (microbatch_ > 0) {
    const TensorId known = parameters_.at(name);
    EMPLACE_CHECK(tensor(known).shape == shape);
    return known;
  }
  SymbolicNode node;
  node.name = name;
  node.type = kParameterType;
  node.group = "param:" + name;
  const TensorId added = AddNode(std::move(node), {.shape = shape, .type = float_type_, .requires_grad = true});
  parameters_[name] = added;
  return added;
}

TensorId TensorProgram::Input(const std::string& name, const Shape& shape) {
  return AddInput(name, shape, float_type_);
}
TensorId TensorProgram::IdInput(const std::string& name, const Shape& shape) {
  return AddInput(name, shape, ElementType::kInt64);
}

TensorId TensorProgram::AddInput(const std::string& name, const Shape& shape, ElementType type) {
  SymbolicNode node;
  node.name = name;
  node.type = kInputType;
  return AddNode(std::move(node), {.shape = shape, .type = type});
}

TensorId TensorProgram::Add(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
                            const OpAttributes& attributes) {
  SymbolicNode node;
  node.name = name;
  node.type = type;
  node.inputs = inputs;
  node.attributes = attributes;
  SymbolicTensor output;
  const OpRule& rule = RuleOf(type);
  output.shape = rule.output_shape({*this, node});
  output.type = rule.output_type.value_or(float_type_);
  for (const TensorId input : inputs) output.requires_grad = output.requires_grad || tensor(input).requires_grad;
  const TensorId first = AddNode(std::move(node), std::move(output));
  if (runnable_ && rule.further_outputs) AddFurtherOutputs(rule.further_outputs({*this, nodes_.back()}));
  return first;
}

void TensorProgram::AddFurtherOutputs(std::vector<SymbolicTensor> outputs) {
  for (SymbolicTensor& output : outputs) {
    output.node = static_cast<int32_t>(nodes_.size()) - 1;
    nodes_.back().further_outputs.push_back(static_cast<TensorId>(tensors_.size()));
    output.output = static_cast<int32_t>(nodes_.back().further_outputs.size());
    tensors_.push_back(std::move(output));
  }
}

TensorId TensorProgram::AddBeside(TensorId parameter, const std::string& name, const std::string& type,
                                  const std::vector<TensorId>& inputs) {
  const TensorId output = Add(name, type, inputs);
  const SymbolicNode& beside = nodes_[static_cast<size_t>(tensor(parameter).node)];
  nodes_.back().group = beside.group;
  nodes_.back().stage = beside.stage;
  return output;
}

void TensorProgram::AddUpdate(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
                              const OpAttributes& attributes, const std::vector<int32_t>& after) {
  SymbolicNode node;
  node.name = name;
  node.type = type;
  node.inputs = inputs;
  node.attributes = attributes;
  node.stage = nodes_[static_cast<size_t>(tensor(inputs.front()).node)].stage;
  node.group = nodes_[static_cast<size_t>(tensor(inputs.front()).node)].group;
  node.after = after;
  nodes_.push_back(std::move(node));
}

TensorId TensorProgram::Slice(TensorId id, int32_t dim, int64_t begin, int64_t length, bool drop_dim) {
  SymbolicTensor view = tensor(id);
  const auto d = static_cast<size_t>(dim);
  EMPLACE_CHECK(d < view.shape.size() && begin >= 0 && begin + length <= view.shape[d]);
  const bool piece = view.base >= 0 && !view.reshaped && view.shape.size() == tensor(view.base).shape.size();
  if (piece && view.dim == dim) {
    view.begin += begin;  // A piece of a piece is a piece of the whole.
  } else {
    view.base = id;
    view.reshaped = false;
    view.dim = dim;
    view.begin = begin;
  }
  view.shape[d] = length;
  if (drop_dim) {
    EMPLACE_CHECK(length == 1);
    view.shape.erase(view.shape.begin() + dim);
  }
  tensors_.push_back(std::move(view));
  return static_cast<TensorId>(tensors_.size()) - 1;
}

TensorId TensorProgram::Reshape(TensorId id, const Shape& shape) {
  SymbolicTensor view = tensor(id);
  EMPLACE_CHECK(NumElements(view.shape) == NumElements(shape));
  view.base = id;
  view.reshaped = true;
  view.shape = shape;
  tensors_.push_back(std::move(view));
  return static_cast<TensorId>(tensors_.size()) - 1;
}

}  // namespace emplace
