#include "tests/simulator/families/program/run_program.h"

#include <gtest/gtest.h>

#include <functional>

#include "simulator/families/program/op_table.h"

namespace emplace {
namespace {

using Values = std::vector<torch::Tensor>;
using Kernel = std::function<torch::Tensor(const Values&, const OpAttributes&)>;

torch::Tensor Stored(const torch::Tensor& tensor, bool transposed) {
  return transposed ? tensor.transpose(-2, -1) : tensor;
}

constexpr double kEpsilon = 1e-5;  // Of batch norm.

// x with mean 0 and deviation 1 in every channel, and the factor 1 / deviation.
std::pair<torch::Tensor, torch::Tensor> Normalized(const torch::Tensor& x) {
  const torch::Tensor mean = x.mean({0, 2, 3}, /*keepdim=*/true);
  const torch::Tensor scale = 1 / ((x - mean).square().mean({0, 2, 3}, true) + kEpsilon).sqrt();
  return {(x - mean) * scale, scale};
}

torch::Tensor ByChannel(const torch::Tensor& numbers) { return numbers.view({1, -1, 1, 1}); }

// Rows with mean 0 and deviation 1, and the factor 1 / deviation.
std::pair<torch::Tensor, torch::Tensor> NormalizedRows(const torch::Tensor& x) {
  const torch::Tensor mean = x.mean(-1, /*keepdim=*/true);
  const torch::Tensor scale = 1 / ((x - mean).square().mean(-1, true) + kEpsilon).sqrt();
  return {(x - mean) * scale, scale};
}

// One of the two gradients of a convolution; `other`: the weight, or the input.
torch::Tensor ConvolutionGradient(const Values& in, const OpAttributes& with, bool of_input) {
  const torch::Tensor unknown = torch::zeros(with.shape, in[0].options());  // Only its shape matters.
  const auto gradients = at::convolution_backward(in[0], of_input ? unknown : in[1], of_input ? in[1] : unknown, {},
                                                  with.stride, with.padding, with.dilation, false, {0, 0},
                                                  with.channel_groups, {of_input, !of_input, false});
  return of_input ? std::get<0>(gradients) : std::get<1>(gradients);
}

const std::map<std::string, Kernel>& Kernels() {
  static const std::map<std::string, Kernel> kernels = {
      {"aten.mm",
       [](const Values& in, const OpAttributes& with) {
         return torch::mm(Stored(in[0], with.transpose_a), Stored(in[1], with.transpose_b));
       }},
      {"aten.bmm",
       [](const Values& in, const OpAttributes& with) {
         return torch::bmm(Stored(in[0], with.transpose_a), Stored(in[1], with.transpose_b));
       }},
      {"aten.addmm", [](const Values& in, const OpAttributes&) { return torch::addmm(in[0], in[1], in[2]); }},
      {"aten.sum", [](const Values& in, const OpAttributes&) { return in[0].sum(0); }},
      {"aten._softmax", [](const Values& in, const OpAttributes&) { return torch::softmax(in[0], -1); }},
      {"aten._softmax_backward_data",
       [](const Values& in, const OpAttributes&) {
         return at::_softmax_backward_data(in[0], in[1], -1, in[0].scalar_type());
       }},
      {"aten.convolution",
       [](const Values& in, const OpAttributes& with) {
         const auto bias = in.size() > 2 ? std::optional<torch::Tensor>(in[2]) : std::nullopt;
         return at::convolution(in[0], in[1], bias, with.stride, with.padding, with.dilation, false, {0, 0},
                                with.channel_groups);
       }},
      {"aten.convolution_backward.input",
       [](const Values& in, const OpAttributes& with) { return ConvolutionGradient(in, with, true); }},
      {"aten.convolution_backward.weight",
       [](const Values& in, const OpAttributes& with) { return ConvolutionGradient(in, with, false); }},
      {"aten.convolution_backward.bias",
       [](const Values& in, const OpAttributes&) {
         return in[0].sum({0, 2, 3});
       }},
      // LibTorch's own, so that autograd differentiates that; the backward ops by their definitions (CUDA only there).
      {"aten.native_batch_norm",
       [](const Values& in, const OpAttributes&) {
         return std::get<0>(at::native_batch_norm(in[0], in[1][0], in[1][1], {}, {}, true, 0.1, kEpsilon));
       }},
      {"aten.batch_norm_backward_reduce",
       [](const Values& in, const OpAttributes&) {
         return torch::stack({(in[0] * Normalized(in[1]).first).sum({0, 2, 3}), in[0].sum({0, 2, 3})});
       }},
      {"aten.batch_norm_backward_elemt",
       [](const Values& in, const OpAttributes&) {
         const auto [normal, scale] = Normalized(in[1]);
         const auto count = static_cast<double>(in[1].numel()) / static_cast<double>(in[1].size(1));
         const torch::Tensor sums = in[3] / count;
         return ByChannel(in[2][0]) * scale * (in[0] - ByChannel(sums[1]) - normal * ByChannel(sums[0]));
       }},
      {"aten.avg_pool2d",
       [](const Values& in, const OpAttributes& with) {
         return at::avg_pool2d(in[0], with.kernel, with.stride, with.padding, false, false);
       }},
      {"aten.avg_pool2d_backward",
       [](const Values& in, const OpAttributes& with) {
         const torch::Tensor x = torch::zeros(with.shape, in[0].options());
         return at::avg_pool2d_backward(in[0], x, with.kernel, with.stride, with.padding, false, false, {});
       }},
      {"aten.max_pool2d_with_indices",
       [](const Values& in, const OpAttributes& with) {
         return std::get<0>(at::max_pool2d_with_indices(in[0], with.kernel, with.stride, with.padding));
       }},
      {"aten.max_pool2d_with_indices_backward",
       [](const Values& in, const OpAttributes& with) {
         const auto [y, indices] = at::max_pool2d_with_indices(in[1], with.kernel, with.stride, with.padding);
         EXPECT_TRUE(torch::equal(y, in[2]));
         return at::max_pool2d_with_indices_backward(in[0], in[1], with.kernel, with.stride, with.padding, {1, 1},
                                                     false, indices);
       }},
      {"aten.constant_pad_nd",
       [](const Values& in, const OpAttributes& with) { return at::constant_pad_nd(in[0], with.pad); }},
      {"aten.permute_copy",
       [](const Values& in, const OpAttributes& with) { return at::permute_copy(in[0], with.dims); }},
      {"aten.masked_fill",
       [](const Values& in, const OpAttributes& with) { return in[0].masked_fill(in[1] != 0, with.fill); }},
      // LibTorch's own, as batch norm is; the gradients by their definitions.
      {"aten.native_layer_norm",
       [](const Values& in, const OpAttributes&) {
         return torch::layer_norm(in[0], {in[0].size(-1)}, in[1][0], in[1][1], kEpsilon);
       }},
      {"aten.native_layer_norm_backward.input",
       [](const Values& in, const OpAttributes&) {
         const auto [normal, scale] = NormalizedRows(in[1]);
         const torch::Tensor grad = in[0] * in[2][0];
         return scale * (grad - grad.mean(-1, true) - normal * (grad * normal).mean(-1, true));
       }},
      {"aten.native_layer_norm_backward.affine",
       [](const Values& in, const OpAttributes&) {
         return torch::stack({(in[0] * NormalizedRows(in[1]).first).sum(0), in[0].sum(0)});
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
      {"aten.stack", [](const Values& in, const OpAttributes& with) { return torch::stack(in, with.dim); }},
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
  const std::function<torch::Tensor(TensorId)> value_of = [&](TensorId id) {
    const SymbolicTensor& tensor = program.tensor(id);
    if (tensor.base < 0) return values[static_cast<size_t>(id)];
    const torch::Tensor base = value_of(tensor.base);
    return tensor.reshaped ? base.reshape(tensor.shape) : Piece(base, tensor);
  };
  for (const SymbolicNode& node : program.nodes()) {
    if (node.output < 0) continue;
    torch::Tensor& output = values[static_cast<size_t>(node.output)];
    if (node.type == kParameterType || node.type == kInputType) {
      output = given.at(OpName(node));
    } else {
      Values inputs;
      for (const TensorId input : node.inputs) inputs.push_back(value_of(input));
      output = Kernels().at(node.type)(inputs, node.attributes);
    }
    EXPECT_EQ(output.sizes().vec(), program.tensor(node.output).shape) << node.name << " " << node.type;
  }
  std::vector<torch::Tensor> all;
  for (size_t id = 0; id < values.size(); ++id) all.push_back(value_of(static_cast<TensorId>(id)));
  return all;
}

}  // namespace emplace
