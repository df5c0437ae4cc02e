// A training step written as a program on symbolic tensors: shapes and op types, no numbers. Families build the forward
// part with it, backward.h adds the rest, lower.h makes an OpGraph of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace {

using TensorId = int32_t;
using Shape = std::vector<int64_t>;

enum class ElementType { kFloat32, kFloat16, kInt64 };
int64_t SizeOf(ElementType type);
const char* NameOf(ElementType type);     // "f32"
int64_t NumElements(const Shape& shape);  // 1 for a scalar, whose shape is {}.

struct SymbolicTensor {
  Shape shape;
  ElementType type = ElementType::kFloat32;
  int32_t node = -1;  // That makes it; of a view: its base's.
  bool requires_grad = false;
  // A view of `base`, folded away when lowered; -1: not a view. Either a piece along `dim`, from `begin` on, or all of
  // it in another shape.
  TensorId base = -1;
  bool reshaped = false;
  int32_t dim = 0;
  int64_t begin = 0;

  int64_t bytes() const { return NumElements(shape) * SizeOf(type); }
};

// Settings of an op that its inputs do not say.
struct OpAttributes {
  bool transpose_a =
      false;  // aten.mm, aten.bmm: a transposed operand is a view of the stored one, so it costs nothing.
  bool transpose_b = false;
  int64_t dim = 0;     // aten.cat, aten.stack
  int64_t rows = 0;    // aten.embedding_dense_backward: rows of the weight
  double divisor = 1;  // aten.div
  // Convolutions and pools, height then width. Convolutions take their kernel from the weight.
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> padding = {0, 0};
  int64_t channel_groups = 1;   // aten.convolution; as many as channels: depthwise
  int64_t shift = 0;            // aten.constant_pad_nd: rows and columns that leave at the top left and enter as zeros
  int64_t optimizer_slots = 0;  // Updates: tensors of the parameter's size that the optimizer keeps
  Shape shape = {};             // Of the output, where the inputs do not tell (gradients of strided ops).
};

struct SymbolicNode {
  std::string name;
  std::string type;              // A key of the op table: "aten.mm".
  std::vector<TensorId> inputs;  // Possibly views.
  TensorId output = -1;          // -1: none (an update in place).
  OpAttributes attributes;
  std::string group;           // Ops of one group are colocated.
  int32_t stage = -1;          // Of the network, as an expert would divide it; -1: none.
  std::vector<int32_t> after;  // Nodes that must have run before, besides those that make the inputs.
};

class TensorProgram {
 public:
  // float_type: of parameters and of inputs that are no ids, and so of everything computed from them.
  explicit TensorProgram(ElementType float_type = ElementType::kFloat32) : float_type_(float_type) {}

  // What is added from now on belongs to this stage: a layer or cell by depth, from 0 on; -1: none.
  void SetStage(int32_t stage) { stage_ = stage; }

  // An op of type "emplace.parameter": trainable, resident. Its update shares its colocation group.
  TensorId Parameter(const std::string& name, const Shape& shape);
  // Ops of type "emplace.input": what the step is given, numbers (images, the hidden state before) or ids (tokens).
  TensorId Input(const std::string& name, const Shape& shape);
  TensorId IdInput(const std::string& name, const Shape& shape);
  // Adds an op; its output's shape follows from the op table. REQUIRES: names differ.
  TensorId Add(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
               const OpAttributes& attributes = {});
  // Adds an op that changes its first input, a parameter, in place, once the nodes of `after` have run.
  void AddUpdate(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
                 const OpAttributes& attributes, const std::vector<int32_t>& after);
  // A view: elements [begin, begin + length) of `dim`. With drop_dim (length 1) the result lacks that dimension.
  TensorId Slice(TensorId tensor, int32_t dim, int64_t begin, int64_t length, bool drop_dim = false);
  // A view: the same elements in another shape.
  TensorId Reshape(TensorId tensor, const Shape& shape);

  const std::vector<SymbolicNode>& nodes() const { return nodes_; }
  const std::vector<SymbolicTensor>& tensors() const { return tensors_; }
  const SymbolicTensor& tensor(TensorId id) const { return tensors_[static_cast<size_t>(id)]; }

 private:
  TensorId AddNode(SymbolicNode node, SymbolicTensor output);
  TensorId AddInput(const std::string& name, const Shape& shape, ElementType type);

  ElementType float_type_;
  int32_t stage_ = -1;
  std::vector<SymbolicNode> nodes_;  // In an order in which they could run.
  std::vector<SymbolicTensor> tensors_;
};

}  // namespace emplace
