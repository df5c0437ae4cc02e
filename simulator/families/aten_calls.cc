#include "simulator/families/aten_calls.h"

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

Json Int(int64_t number) { return {{"const", number}, {"as", "int"}}; }
Json Float(double number) { return {{"const", number}, {"as", "float"}}; }
Json None() { return {{"const", nullptr}, {"as", "none"}}; }

// The views from an op's output to a tensor of the program, the first one first.
Json ViewsOf(const TensorProgram& program, TensorId id) {
  const SymbolicTensor& tensor = program.tensor(id);
  if (tensor.base < 0) return Json::array();
  Json views = ViewsOf(program, tensor.base);
  const Shape& base = program.tensor(tensor.base).shape;
  if (tensor.reshaped) {
    views.push_back({"aten.view.default", Json::array({tensor.shape})});
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
  Json All() const {
    Json list = Json::array();
    for (size_t i = 0; i < call_.node.inputs.size(); ++i) list.push_back(In(i));
    return list;
  }
  Json Dtype(size_t input) const { return {{"const", NameOf(call_.input(input).type)}, {"as", "dtype"}}; }
  const OpAttributes& attributes() const { return call_.node.attributes; }

 private:
  const OpCall& call_;
};

struct AtenRule {
  std::string op;
  std::function<Json(const Arguments&)> args;
  std::function<Json(const Arguments&)> kwargs = {};  // Empty: none.
};

Json Inputs(const Arguments& from) { return from.All(); }

Json Product(const Arguments& from) {
  return {from.attributes().transpose_a ? from.Transposed(0) : from.In(0),
          from.attributes().transpose_b ? from.Transposed(1) : from.In(1)};
}

Json Joined(const Arguments& from) { return {{{"list", from.All()}}, Int(from.attributes().dim)}; }

Json AlongTheLastDimension(const Arguments& from) { return {from.In(0), Int(-1), {{"const", false}, {"as", "bool"}}}; }

Json GradientAlongTheLastDimension(const Arguments& from) { return {from.In(0), from.In(1), Int(-1), from.Dtype(0)}; }

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
          return Json{from.In(0), {{"const", {0}}, {"as", "int[]"}}};
        }}},
      {"aten.cat", {"aten.cat.default", Joined}},
      {"aten.stack", {"aten.stack.default", Joined}},
      {"aten.embedding", {"aten.embedding.default", Inputs}},
      {"aten.embedding_dense_backward",
       {"aten.embedding_dense_backward.default",
        [](const Arguments& from) {
          return Json{from.In(0), from.In(1), Int(from.attributes().rows), Int(-1), {{"const", false}, {"as", "bool"}}};
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
      {"aten.add_",
       {"aten.add_.Tensor", Inputs,
        [](const Arguments&) {
          return Json{{"alpha", Float(-kLearningRate)}};
        }}},
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
                          ", expected ptb, nmt, nmt_single, rnnlm or one of rnnlm2 to rnnlm8"));
  }
  const AtenRule& rule = found->second;
  const Arguments arguments(call);
  const Json json = {{"op", rule.op},
                     {"args", rule.args(arguments)},
                     {"kwargs", rule.kwargs ? rule.kwargs(arguments) : Json::object()}};
  return json.dump();
}

}  // namespace emplace
