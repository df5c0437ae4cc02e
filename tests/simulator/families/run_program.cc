#include "tests/simulator/families/run_program.h"

#include <gtest/gtest.h>

#include <functional>

#include "simulator/families/op_table.h"

namespace emplace {
namespace {

using Values = std::vector<torch::Tensor>;
using Kernel = std::function<torch::Tensor(const Values&, const OpAttributes&)>;

torch::Tensor Stored(const torch::Tensor& tensor, bool transposed) { return transposed ? tensor.t() : tensor; }

const std::map<std::string, Kernel>& Kernels() {
  static const std::map<std::string, Kernel> kernels = {
      {"aten.mm",
       [](const Values& in, const OpAttributes& with) {
         return torch::mm(Stored(in[0], with.transpose_a), Stored(in[1], with.transpose_b));
       }},
      {"aten.add", [](const Values& in, const OpAttributes&) { return in[0] + in[1]; }},
      {"aten.sub", [](const Values& in, const OpAttributes&) { return in[0] - in[1]; }},
      {"aten.mul", [](const Values& in, const OpAttributes&) { return in[0] * in[1]; }},
      {"aten.div", [](const Values& in, const OpAttributes& with) { return in[0] / with.divisor; }},
      {"aten.neg", [](const Values& in, const OpAttributes&) { return -in[0]; }},
      {"aten.sigmoid", [](const Values& in, const OpAttributes&) { return torch::sigmoid(in[0]); }},
      {"aten.sigmoid_backward",
       [](const Values& in, const OpAttributes&) { return at::sigmoid_backward(in[0], in[1]); }},
      {"aten.tanh", [](const Values& in, const OpAttributes&) { return torch::tanh(in[0]); }},
      {"aten.tanh_backward", [](const Values& in, const OpAttributes&) { return at::tanh_backward(in[0], in[1]); }},
      {"aten.relu", [](const Values& in, const OpAttributes&) { return torch::relu(in[0]); }},
      {"aten.threshold_backward",
       [](const Values& in, const OpAttributes&) { return at::threshold_backward(in[0], in[1], 0); }},
      {"aten.cat", [](const Values& in, const OpAttributes& with) { return torch::cat(in, with.dim); }},
      {"aten.stack", [](const Values& in, const OpAttributes&) { return torch::stack(in, 0); }},
      {"aten.embedding", [](const Values& in, const OpAttributes&) { return torch::embedding(in[0], in[1]); }},
      {"aten.embedding_dense_backward",
       [](const Values& in, const OpAttributes& with) {
         return at::embedding_dense_backward(in[0], in[1], with.rows, -1, false);
       }},
      {"aten._log_softmax", [](const Values& in, const OpAttributes&) { return torch::log_softmax(in[0], -1); }},
      {"aten._log_softmax_backward_data",
       [](const Values& in, const OpAttributes&) {
         return at::_log_softmax_backward_data(in[0], in[1], -1, in[0].scalar_type());
       }},
      {"aten.nll_loss_forward", [](const Values& in, const OpAttributes&) { return torch::nll_loss(in[0], in[1]); }},
      {"aten.nll_loss_backward",
       [](const Values& in, const OpAttributes&) {
         const torch::Tensor rows = torch::full({}, static_cast<double>(in[2].numel()), in[1].options());
         return at::nll_loss_backward(in[0], in[1], in[2], {}, at::Reduction::Mean, -100, rows);
       }},
      {"aten.ones_like", [](const Values& in, const OpAttributes&) { return torch::ones_like(in[0]); }},
  };
  return kernels;
}

torch::Tensor Piece(const torch::Tensor& base, const SymbolicTensor& view) {
  if (view.shape.size() < static_cast<size_t>(base.dim())) return base.select(view.dim, view.begin);
  return base.narrow(view.dim, view.begin, view.shape[static_cast<size_t>(view.dim)]);
}

}  // namespace

std::vector<torch::Tensor> RunProgram(const TensorProgram& program, const std::map<std::string, torch::Tensor>& given) {
  std::vector<torch::Tensor> values(program.tensors().size());
  const auto value_of = [&](TensorId id) {
    const SymbolicTensor& tensor = program.tensor(id);
    return tensor.base < 0 ? values[static_cast<size_t>(id)] : Piece(values[static_cast<size_t>(tensor.base)], tensor);
  };
  for (const SymbolicNode& node : program.nodes()) {
    if (node.output < 0) continue;
    torch::Tensor& output = values[static_cast<size_t>(node.output)];
    if (node.type == kParameterType || node.type == kInputType) {
      output = given.at(node.name);
    } else {
      Values inputs;
      for (const TensorId input : node.inputs) inputs.push_back(value_of(input));
      output = Kernels().at(node.type)(inputs, node.attributes);
    }
    EXPECT_EQ(output.sizes().vec(), program.tensor(node.output).shape) << node.name << " " << node.type;
  }
  for (size_t id = 0; id < values.size(); ++id) values[id] = value_of(static_cast<TensorId>(id));
  return values;
}

}  // namespace emplace
