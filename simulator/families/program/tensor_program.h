// A training step as a program on symbolic tensors, which have shapes and types but no numbers. Families build the
// forward part with it, backward.h adds the rest, and lower.h turns it into an OpGraph.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emplace {

using TensorId = int32_t;
using Shape = std::vector<int64_t>;

enum class ElementType { kFloat32, kFloat16, kInt64, kBool };
int64_t SizeOf(ElementType type);
const char* NameOf(ElementType type);     // "f32"
int64_t NumElements(const Shape& shape);  // 1 for a scalar, whose shape is {}.

struct SymbolicTensor {
  Shape shape;
  ElementType type = ElementType::kFloat32;
  int32_t node = -1;   // The node that makes the tensor; for a view, that of its base.
  int32_t output = 0;  // Which output of the node it is, counted from 0; for a view, that of its base.
  bool requires_grad = false;
  // The tensor that this one is a view of; -1: not a view. A view is a piece along `dim` that starts at `begin`, or the
  // whole tensor in another shape. Lowering makes no op of it.
  TensorId base = -1;
  bool reshaped = false;
  int32_t dim = 0;
  int64_t begin = 0;

  int64_t bytes() const { return NumElements(shape) * SizeOf(type); }
};

// Settings of an op that do not follow from its inputs.
struct OpAttributes {
  // aten.mm, aten.bmm: a transposed operand is a view of the stored one, so it costs nothing.
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t dim = 0;     // aten.cat, aten.stack
  int64_t rows = 0;    // aten.embedding_dense_backward: rows of the weight
  double divisor = 1;  // aten.div
  // Convolutions and pools, height then width. Convolutions take their kernel from the weight.
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> dilation = {1, 1};  // aten.convolution: distance between the pixels under neighbouring weights
  int64_t channel_groups = 1;                // aten.convolution; depthwise if there are as many as channels
  // aten.constant_pad_nd: zeros added to the last two dimensions, left, right, top, bottom; what is negative is cut
  // off.
  std::array<int64_t, 4> pad = {0, 0, 0, 0};
  Shape dims = {};              // aten.permute_copy: dimension i of the output is dimension dims[i] of the input
  double fill = 0;              // aten.masked_fill: the number that replaces what is masked
  int64_t optimizer_slots = 0;  // Updates: number of tensors of the parameter's size that the optimizer keeps
  Shape shape = {};             // The output's shape, if the inputs do not determine it (gradients of strided ops).
};

struct SymbolicNode {
  std::string name;                       // Used once in each micro-batch; OpName is used once in the program.
  std::string type;                       // A key of the op table: "aten.mm".
  std::vector<TensorId> inputs;           // Some may be views.
  TensorId output = -1;                   // -1: none, for an update in place.
  std::vector<TensorId> further_outputs;  // OpRule::further_outputs; in programs that can be run alone.
  OpAttributes attributes;
  std::string group;           // Ops of one group go on the same device.
  int32_t stage = -1;          // Stage of the network, as people would divide it; -1: none.
  int32_t microbatch = 0;      // Counted from 0, as are the ops that all micro-batches share.
  std::vector<int32_t> after;  // Nodes that must run before, besides those that make the inputs.
};

// The op's name in the graph: in micro-batches after the first with the number before it, as "mb1/loss".
std::string OpName(const SymbolicNode& node);

// Throws BadInput where a program gets more than a million nodes.
class TensorProgram {
 public:
  // float_type: type of parameters and of inputs other than ids, and so of all tensors computed from them.
  // runnable: whether each op is to be one operator of ATen (aten_calls.h). Ops then have all outputs that other ops
  // need: statistics of norms, places of maxima. Other programs count these with the tensors that they belong to.
  explicit TensorProgram(ElementType float_type = ElementType::kFloat32, bool runnable = false)
      : float_type_(float_type), runnable_(runnable) {}

  // Sets the stage of all ops that are added from now on: the depth of a layer or cell, counted from 0; -1: none.
  void SetStage(int32_t stage) { stage_ = stage; }

  // Sets the micro-batch of all ops that are added from now on. Each one after the first repeats the ops of the first,
  // under the same names, and reads the same parameters.
  void SetMicrobatch(int32_t microbatch) { microbatch_ = microbatch; }

  // Adds an op of type "emplace.parameter": a trainable weight. Its update goes on the same device. In micro-batches
  // after the first, returns the first one's parameter of this name. REQUIRES: it has this shape.
  TensorId Parameter(const std::string& name, const Shape& shape);
  // Add an op of type "emplace.input": data that the step is given, numbers (such as images) or ids (tokens).
  TensorId Input(const std::string& name, const Shape& shape);
  TensorId IdInput(const std::string& name, const Shape& shape);
  // Adds an op; its output's shape follows from the op table. REQUIRES: names differ.
  TensorId Add(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
               const OpAttributes& attributes = {});
  // Adds an op, as Add does, on the device and in the stage of the parameter.
  TensorId AddBeside(TensorId parameter, const std::string& name, const std::string& type,
                     const std::vector<TensorId>& inputs);
  // Adds an op that changes its first input, a parameter, in place, once the nodes of `after` have run.
  void AddUpdate(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
                 const OpAttributes& attributes, const std::vector<int32_t>& after);
  // Makes a view of elements [begin, begin + length) of `dim`. With drop_dim (length 1) the
  // result lacks that dimension.
  TensorId Slice(TensorId tensor, int32_t dim, int64_t begin, int64_t length, bool drop_dim = false);
  // Makes a view of the same elements in another shape.
  TensorId Reshape(TensorId tensor, const Shape& shape);

  bool runnable() const { return runnable_; }
  // The outputs after the first of the node that makes the tensor.
  const std::vector<TensorId>& further_outputs(TensorId id) const {
    return nodes_[static_cast<size_t>(tensor(id).node)].further_outputs;
  }
  const std::vector<SymbolicNode>& nodes() const { return nodes_; }
  const std::vector<SymbolicTensor>& tensors() const { return tensors_; }
  const SymbolicTensor& tensor(TensorId id) const { return tensors_[static_cast<size_t>(id)]; }

 private:
  TensorId AddNode(SymbolicNode node, SymbolicTensor output);
  void AddFurtherOutputs(std::vector<SymbolicTensor> outputs);  // Of the last node.
  TensorId AddInput(const std::string& name, const Shape& shape, ElementType type);

  ElementType float_type_;
  bool runnable_;
  int32_t stage_ = -1;
  int32_t microbatch_ = 0;
  std::vector<SymbolicNode> nodes_;  // In a topological order.
  std::vector<SymbolicTensor> tensors_;
  std::map<std::string, TensorId> parameters_;  // By name.
};

}  // namespace emplace
