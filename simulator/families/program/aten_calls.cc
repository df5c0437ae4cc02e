#include "simulator/families/program/aten_calls.h"

#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

constexpr int64_t kSum = 2;             // The reduction of a loss, as ATen counts them.
constexpr double kLearningRate = 0.01;  // Of updates.
constexpr double kEpsilon = 1e-5;       // Of norms: added to the variance.
constexpr double kMomentum = 0.1;       // Of the moving averages of batch norm, which no op keeps.

Json Int(int64_t number) { return {{"const", number}, {"as", "int"}}; }
Json Float(double number) { return {{"const", number}, {"as", "float"}}; }
Json Bool(bool flag) { return {{"const", flag}, {"as", "bool"}}; }
template <typename List>
Json Ints(const List& numbers) {
  return {{"const", numbers}, {"as", "int[]"}};
}
Json Bools(const std::vector<bool>& flags) { return {{"const", flags}, {"as", "bool[]"}}; }
Json None() { return {{"const", nullptr}, {"as", "none"}}; }

// The views from an op's output to a tensor of the program, the first one first.
Json ViewsOf(const TensorProgram& program, TensorId id) {
  const SymbolicTensor& tensor = program.tensor(id);
  if (tensor.base < 0) return Json::array();
  Json views = ViewsOf(program, tensor.base);
  const Shape& base = program.tensor(tensor.base).shape;
  if (tensor.reshaped) {
    // Only the whole is certain to lie in memory as another shape needs it.
    const bool whole = program.tensor(tensor.base).base < 0;
    views.push_back({whole ? "aten.view.default" : "aten.reshape.default", Json::array({tensor.shape})});
  } else if (tensor.shape.size() < base.size()) {
    views.push_back({"aten.select.int", {tensor.dim, tensor.begin}});
  } else {
    const int64_t end = tensor.begin + tensor.shape[static_cast<size_t>(tensor.dim)];
    views.push_back({"aten.slice.Tensor", {tensor.dim, tensor.begin, end, 1}});
  }
  return views;
}

// The arguments of a call, from the inputs of its op.
class Arguments {
 public:
  explicit Arguments(const OpCall& call) : call_(call) {}

  Json In(size_t input) const {
    Json argument = {{"in", input}};
    const Json views = ViewsOf(call_.program, call_.node.inputs[input]);
    if (!views.empty()) argument["views"] = views;
    return argument;
  }
  // A matrix, or one of each of a batch, with its last two dimensions exchanged.
  Json Transposed(size_t input) const {
    Json argument = In(input);
    const auto dims = static_cast<int64_t>(call_.input(input).shape.size());
    argument["views"].push_back({"aten.transpose.int", {dims - 2, dims - 1}});
    return argument;
  }
  // One of the tensors that lie in an input along its first dimension.
  Json Part(size_t input, int64_t index) const {
    Json argument = In(input);
    argument["views"].push_back({"aten.select.int", {0, index}});
    return argument;
  }
  // A tensor of this shape, for an argument of which the operator reads nothing but the shape: it repeats the input's
  // first element.
  Json OfShape(const Shape& shape, size_t input) const {
    Json argument = In(input);
    argument["views"].push_back({"aten.as_strided.default", Json::array({shape, Shape(shape.size(), 0)})});
    return argument;
  }
  Json All() const {
    Json list = Json::array();
    for (size_t i = 0; i < call_.node.inputs.size(); ++i) list.push_back(In(i));
    return list;
  }
  Json Dtype(size_t input) const { return {{"const", NameOf(call_.input(input).type)}, {"as", "dtype"}}; }
  const OpAttributes& attributes() const { return call_.node.attributes; }
  const Shape& shape(size_t input) const { return call_.input(input).shape; }
  size_t size() const { return call_.node.inputs.size(); }

 private:
  const OpCall& call_;
};

struct AtenRule {
  std::string op;
  std::function<Json(const Arguments&)> args;
  std::function<Json(const Arguments&)> kwargs = {};  // Empty: none.
  int32_t left_out = 0;                               // Outputs before the op's own, which the call leaves out.
};

Json Inputs(const Arguments& from) { return from.All(); }

Json Product(const Arguments& from) {
  return {from.attributes().transpose_a ? from.Transposed(0) : from.In(0),
          from.attributes().transpose_b ? from.Transposed(1) : from.In(1)};
}

Json Joined(const Arguments& from) { return {{{"list", from.All()}}, Int(from.attributes().dim)}; }

Json AlongTheLastDimension(const Arguments& from) { return {from.In(0), Int(-1), Bool(false)}; }

Json GradientAlongTheLastDimension(const Arguments& from) { return {from.In(0), from.In(1), Int(-1), from.Dtype(0)}; }

// The arguments of a convolution after the bias.
void AddConvolution(Json& arguments, const OpAttributes& with, bool transposed,
                    const std::array<int64_t, 2>& output_padding) {
  for (Json argument : {Ints(with.stride), Ints(with.padding), Ints(with.dilation), Bool(transposed),
                        Ints(output_padding), Int(with.channel_groups)}) {
    arguments.push_back(std::move(argument));
  }
}

Json Convolved(const Arguments& from) {
  Json arguments = {from.In(0), from.In(1), from.size() > 2 ? from.In(2) : None()};
  AddConvolution(arguments, from.attributes(), /*transposed=*/false, {0, 0});
  return arguments;
}

// The gradient of a convolution's input is a transposed convolution. Its output padding are the pixels of the input
// that the strides left over.
Json GradientOfConvolutionsInput(const Arguments& from) {
  const OpAttributes& with = from.attributes();
  std::array<int64_t, 2> left_over{};
  for (size_t i = 0; i < left_over.size(); ++i) {
    const int64_t kernel = from.shape(1)[2 + i];
    const int64_t read = (from.shape(0)[2 + i] - 1) * with.stride[i] + with.dilation[i] * (kernel - 1) + 1;
    left_over[i] = with.shape[2 + i] + 2 * with.padding[i] - read;
  }
  Json arguments = {from.In(0), from.In(1), None()};
  AddConvolution(arguments, with, /*transposed=*/true, left_over);
  return arguments;
}

Json GradientOfConvolutionsWeight(const Arguments& from) {
  Json arguments = {from.In(0), from.In(1), from.OfShape(from.attributes().shape, 0), None()};
  AddConvolution(arguments, from.attributes(), /*transposed=*/false, {0, 0});
  arguments.push_back(Bools({false, true, false}));
  return arguments;
}

Json Normalized(const Arguments& from) {
  return {from.In(0), from.Part(1, 0), from.Part(1, 1), Bool(true), Float(kMomentum), Float(kEpsilon)};
}

Json GradientOfNormalized(const Arguments& from) {
  return {from.In(0), from.In(1), from.Part(2, 0), None(),          None(),
          from.In(3), from.In(4), Bool(true),      Float(kEpsilon), Bools({true, true, true})};
}

Json NormalizedRows(const Arguments& from) {
  return {from.In(0), Ints(Shape{from.shape(0).back()}), from.Part(1, 0), from.Part(1, 1), Float(kEpsilon)};
}

Json GradientOfNormalizedRows(const Arguments& from) {
  return {from.In(0),      from.In(1),      Ints(Shape{from.shape(1).back()}), from.In(3), from.In(4),
          from.Part(2, 0), from.Part(2, 1), Bools({true, true, true})};
}

Json Averaged(const Arguments& from) {
  const OpAttributes& with = from.attributes();
  return {from.In(0), Ints(with.kernel), Ints(with.stride), Ints(with.padding), Bool(false), Bool(false)};
}

Json GradientOfAveraged(const Arguments& from) {
  const OpAttributes& with = from.attributes();
  return {from.In(0),         from.OfShape(with.shape, 0),
          Ints(with.kernel),  Ints(with.stride),
          Ints(with.padding), Bool(false),
          Bool(false),        None()};
}

Json Largest(const Arguments& from) {
  const OpAttributes& with = from.attributes();
  return {from.In(0), Ints(with.kernel), Ints(with.stride), Ints(with.padding)};
}

Json GradientOfLargest(const Arguments& from) {
  const OpAttributes& with = from.attributes();
  return {from.In(0),         from.In(1),        Ints(with.kernel), Ints(with.stride),
          Ints(with.padding), Ints(Shape{1, 1}), Bool(false),       from.In(2)};
}

Json Change(const Arguments&) { return {{"alpha", Float(-kLearningRate)}}; }

const std::map<std::string, AtenRule>& Rules() {
  static const std::map<std::string, AtenRule> rules = {
      {"aten.add", {"aten.add.Tensor", Inputs}},
      {"aten.sub", {"aten.sub.Tensor", Inputs}},
      {"aten.mul", {"aten.mul.Tensor", Inputs}},
      {"aten.div",
       {"aten.div.Tensor",
        [](const Arguments& from) {
          return Json{from.In(0), Float(from.attributes().divisor)};
        }}},
      {"aten.neg", {"aten.neg.default", Inputs}},
      {"aten.sigmoid", {"aten.sigmoid.default", Inputs}},
      {"aten.sigmoid_backward", {"aten.sigmoid_backward.default", Inputs}},
      {"aten.tanh", {"aten.tanh.default", Inputs}},
      {"aten.tanh_backward", {"aten.tanh_backward.default", Inputs}},
      {"aten.relu", {"aten.relu.default", Inputs}},
      {"aten.threshold_backward",
       {"aten.threshold_backward.default",
        [](const Arguments& from) {
          return Json{from.In(0), from.In(1), Int(0)};
        }}},
      {"aten.mm", {"aten.mm.default", Product}},
      {"aten.bmm", {"aten.bmm.default", Product}},
      {"aten.addmm", {"aten.addmm.default", Inputs}},
      {"aten.sum",
       {"aten.sum.dim_IntList",
        [](const Arguments& from) {
          return Json{from.In(0), Ints(Shape{0})};
        }}},
      {"aten.cat", {"aten.cat.default", Joined}},
      {"aten.stack", {"aten.stack.default", Joined}},
      {"aten.embedding", {"aten.embedding.default", Inputs}},
      {"aten.embedding_dense_backward",
       {"aten.embedding_dense_backward.default",
        [](const Arguments& from) {
          return Json{from.In(0), from.In(1), Int(from.attributes().rows), Int(-1), Bool(false)};
        }}},
      {"aten._softmax", {"aten._softmax.default", AlongTheLastDimension}},
      {"aten._softmax_backward_data", {"aten._softmax_backward_data.default", GradientAlongTheLastDimension}},
      {"aten._log_softmax", {"aten._log_softmax.default", AlongTheLastDimension}},
      {"aten._log_softmax_backward_data", {"aten._log_softmax_backward_data.default", GradientAlongTheLastDimension}},
      {"aten.nll_loss_forward",
       {"aten.nll_loss_forward.default",
        [](const Arguments& from) {
          return Json{from.In(0), from.In(1), None(), Int(kSum), Int(-100)};
        }}},
      // A sum does not read the last argument, the weight of all examples: any number will do, here the gradient.
      {"aten.nll_loss_backward",
       {"aten.nll_loss_backward.default",
        [](const Arguments& from) {
          return Json{from.In(0), from.In(1), from.In(2), None(), Int(kSum), Int(-100), from.In(0)};
        }}},
      {"aten.ones_like", {"aten.ones_like.default", Inputs}},
      {"aten.convolution", {"aten.convolution.default", Convolved}},
      {"aten.convolution_backward.input", {"aten.convolution.default", GradientOfConvolutionsInput}},
      {"aten.convolution_backward.weight",
       {"aten.convolution_backward.default", GradientOfConvolutionsWeight, {}, /*left_out=*/1}},
      {"aten.convolution_backward.bias",
       {"aten.sum.dim_IntList",
        [](const Arguments& from) {
          return Json{from.In(0), Ints(Shape{0, 2, 3})};
        }}},
      {"aten.native_batch_norm", {"aten._native_batch_norm_legit.no_stats", Normalized}},
      {"aten.native_batch_norm_backward", {"aten.native_batch_norm_backward.default", GradientOfNormalized}},
      {"aten.native_layer_norm", {"aten.native_layer_norm.default", NormalizedRows}},
      {"aten.native_layer_norm_backward", {"aten.native_layer_norm_backward.default", GradientOfNormalizedRows}},
      {"aten.ne",
       {"aten.ne.Scalar",
        [](const Arguments& from) {
          return Json{from.In(0), Int(0)};
        }}},
      {"aten.masked_fill",
       {"aten.masked_fill.Scalar",
        [](const Arguments& from) {
          return Json{from.In(0), from.In(1), Float(from.attributes().fill)};
        }}},
      {"aten.avg_pool2d", {"aten.avg_pool2d.default", Averaged}},
      {"aten.avg_pool2d_backward", {"aten.avg_pool2d_backward.default", GradientOfAveraged}},
      {"aten.max_pool2d_with_indices", {"aten.max_pool2d_with_indices.default", Largest}},
      {"aten.max_pool2d_with_indices_backward", {"aten.max_pool2d_with_indices_backward.default", GradientOfLargest}},
      {"aten.constant_pad_nd",
       {"aten.constant_pad_nd.default",
        [](const Arguments& from) {
          return Json{from.In(0), Ints(from.attributes().pad)};
        }}},
      {"aten.permute_copy",
       {"aten.permute_copy.default",
        [](const Arguments& from) {
          return Json{from.In(0), Ints(from.attributes().dims)};
        }}},
      {"aten.add_", {"aten.add_.Tensor", Inputs, Change}},
      {"aten._fused_sgd_", {"aten.add_.Tensor", Inputs, Change}},
      {"aten._fused_adam_", {"aten.add_.Tensor", Inputs, Change}},
  };
  return rules;
}

}  // namespace

std::string AtenCallOf(const OpCall& call) {
  const std::string& type = call.node.type;
  if (type == kParameterType || type == kInputType) return "";
  const auto found = Rules().find(type);
  if (found == Rules().end()) {
    throw BadInput(StrCat("op '", OpName(call.node), "': there is no call for its type ", type,
                          ", expected one of those in simulator/families/program/aten_calls.cc"));
  }
  const AtenRule& rule = found->second;
  const Arguments arguments(call);
  const Json json = {{"op", rule.op},
                     {"args", rule.args(arguments)},
                     {"kwargs", rule.kwargs ? rule.kwargs(arguments) : Json::object()}};
  return json.dump();
}

int32_t OutputsLeftOutByCall(const std::string& type) {
  const auto found = Rules().find(type);
  return found == Rules().end() ? 0 : found->second.left_out;
}

}  // namespace emplace
