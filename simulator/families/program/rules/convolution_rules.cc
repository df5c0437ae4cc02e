#include <algorithm>

#include "common/error.h"
#include "simulator/families/program/rules/rule_parts.h"

namespace emplace {
namespace {

// Of images [N, C, H, W]. `size`: along the height (0) or width (1).
int64_t Strided(const OpAttributes& with, int64_t size, int64_t kernel, size_t along) {
  const int64_t extent = with.dilation[along] * (kernel - 1) + 1;
  const int64_t places = size + 2 * with.padding[along] - extent;
  EMPLACE_CHECK(places >= 0);
  return places / with.stride[along] + 1;
}

// (x [N, C, H, W], weight [O, C / groups, kh, kw]), or with a bias [O] as third input.
Shape ConvolutionShape(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  const Shape& weight = call.input(1).shape;
  const OpAttributes& with = call.node.attributes;
  EMPLACE_CHECK(x.size() == 4 && weight.size() == 4 && x[1] == weight[1] * with.channel_groups);
  return {x[0], weight[0], Strided(with, x[2], weight[2], 0), Strided(with, x[3], weight[3], 1)};
}

// A product of the unfolded images: 2 * outputs * numbers under the kernel. All three convolutions of a layer cost the
// same: the gradient of the input adds each product to an input pixel, the gradient of the weight to a weight.
double ConvolutionFlops(const Shape& output, const Shape& weight) {
  const int64_t under_kernel = NumElements(weight) / weight[0];
  return 2.0 * static_cast<double>(NumElements(output)) * static_cast<double>(under_kernel);
}
double ForwardFlops(const OpCall& call) {
  const double bias = call.node.inputs.size() > 2 ? Elements(call) : 0;
  return ConvolutionFlops(call.output().shape, call.input(1).shape) + bias;
}
double InputGradientFlops(const OpCall& call) { return ConvolutionFlops(call.input(0).shape, call.input(1).shape); }
double WeightGradientFlops(const OpCall& call) { return ConvolutionFlops(call.input(0).shape, call.output().shape); }

// The images of one sample unfolded, as ATen's own convolution does; cuDNN's implicit one takes less, its FFT more.
int64_t Unfolded(const SymbolicTensor& output, const Shape& weight) {
  if (weight[1] == 1 || weight[2] * weight[3] == 1) return 0;
  return output.shape[2] * output.shape[3] * (NumElements(weight) / weight[0]) * SizeOf(output.type);
}
// A library has the weights in its own order besides, and their gradient once more before it is in ATen's order, as
// oneDNN does.
int64_t ForwardWorkspace(const OpCall& call) {
  return std::max(Unfolded(call.output(), call.input(1).shape), call.input(1).bytes());
}
int64_t InputGradientWorkspace(const OpCall& call) {
  return std::max(Unfolded(call.input(0), call.input(1).shape), call.input(1).bytes());
}
int64_t WeightGradientWorkspace(const OpCall& call) {
  return std::max(Unfolded(call.input(0), call.output().shape), 2 * call.output().bytes());
}

// Two convolutions, and sums for the bias. ATen has them in one op, aten.convolution_backward, whose output mask asks
// for some or all.
void BackwardConvolution(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const TensorId x = node.inputs[0];
  const TensorId weight = node.inputs[1];
  OpAttributes attributes = node.attributes;
  if (sink.Needs(0)) {
    attributes.shape = sink.program().tensor(x).shape;
    sink.Give(0, sink.Emit("input", "aten.convolution_backward.input", {sink.output_grad(), weight}, attributes));
  }
  if (sink.Needs(1)) {
    attributes.shape = sink.program().tensor(weight).shape;
    sink.Give(1, sink.Emit("weight", "aten.convolution_backward.weight", {sink.output_grad(), x}, attributes));
  }
  if (node.inputs.size() > 2 && sink.Needs(2)) {
    attributes.shape = sink.program().tensor(node.inputs[2]).shape;
    sink.Give(2, sink.Emit("bias", "aten.convolution_backward.bias", {sink.output_grad()}, attributes));
  }
}

// (x [N, C, H, W], affine [2, C]: weight and bias as one parameter). The gradient is two ops, as ATen has them on
// CUDA: the sums that are the gradient of `affine`, and the gradient of x by means of them. The mean and deviation of
// each channel, 2 C numbers that ATen hands from the forward to the backward op, are counted with x. In a program that
// can be run, the gradient is the one op that ATen has on all devices, and the numbers are outputs.
void BackwardNorm(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  const TensorId x = node.inputs[0];
  const TensorId affine = node.inputs[1];
  if (sink.program().runnable()) {
    GiveNorm(sink, "aten.native_batch_norm_backward");
    return;
  }
  const TensorId sums = sink.Emit("reduce", "aten.batch_norm_backward_reduce", {sink.output_grad(), x},
                                  {.shape = sink.program().tensor(affine).shape});
  if (sink.Needs(0)) {
    sink.Give(0, sink.Emit("elemt", "aten.batch_norm_backward_elemt", {sink.output_grad(), x, affine, sums}));
  }
  if (sink.Needs(1)) sink.Give(1, sums);
}

Shape PoolShape(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  const OpAttributes& with = call.node.attributes;
  return {x[0], x[1], Strided(with, x[2], with.kernel[0], 0), Strided(with, x[3], with.kernel[1], 1)};
}
double PoolFlops(const OpCall& call) {
  const OpAttributes& with = call.node.attributes;
  return Elements(call) * static_cast<double>(with.kernel[0] * with.kernel[1]);
}
// As many additions, from each element of the gradient, its first input.
double PoolGradientFlops(const OpCall& call) {
  const OpAttributes& with = call.node.attributes;
  return PerInputElement<1>(call) * static_cast<double>(with.kernel[0] * with.kernel[1]);
}

void BackwardAveragePool(GradientSink& sink) {
  OpAttributes attributes = sink.node().attributes;
  attributes.shape = sink.program().tensor(sink.node().inputs[0]).shape;
  sink.Give(0, sink.Emit("avg_pool2d_backward", "aten.avg_pool2d_backward", {sink.output_grad()}, attributes));
}

// As cuDNN's: from input and output. ATen's takes the index of each maximum instead, twice the bytes of the output; so
// do programs that can be run.
void BackwardMaxPool(GradientSink& sink) {
  const SymbolicNode& node = sink.node();
  OpAttributes attributes = node.attributes;
  const TensorId maxima = sink.program().runnable() ? node.further_outputs[0] : node.output;
  attributes.shape = sink.program().tensor(node.inputs[0]).shape;
  sink.Give(0, sink.Emit("max_pool2d_backward", "aten.max_pool2d_with_indices_backward",
                         {sink.output_grad(), node.inputs[0], maxima}, attributes));
}

std::vector<SymbolicTensor> PlacesOfMaxima(const OpCall& call) {
  return {{.shape = call.output().shape, .type = ElementType::kInt64}};
}

// The input is read twice: for its mean and deviation, and to be normalized.
int64_t NormBytes(const OpCall& call) { return 2 * call.input(0).bytes() + call.output().bytes(); }

// Mean and 1 / deviation of each channel.
std::vector<SymbolicTensor> ChannelStatistics(const OpCall& call) {
  const SymbolicTensor each = {.shape = {call.input(0).shape[1]}, .type = call.input(0).type};
  return {each, each};
}

}  // namespace

std::vector<OpRule> ConvolutionRules() {
  constexpr OpClass kConvolution = OpClass::kConvolution;
  constexpr OpClass kReduction = OpClass::kReduction;
  return {
      {"aten.convolution", kConvolution, ConvolutionShape, ForwardFlops, AllBytes, BackwardConvolution,
       ForwardWorkspace},
      {"aten.convolution_backward.input",
       kConvolution,
       GivenShape,
       InputGradientFlops,
       AllBytes,
       {},
       InputGradientWorkspace},
      {"aten.convolution_backward.weight",
       kConvolution,
       GivenShape,
       WeightGradientFlops,
       AllBytes,
       {},
       WeightGradientWorkspace},
      {"aten.convolution_backward.bias", kReduction, GivenShape, PerInputElement<1>, AllBytes},
      {"aten.native_batch_norm", kReduction, SameAs0, PerElement<7>, NormBytes, BackwardNorm, {}, ChannelStatistics},
      {"aten.batch_norm_backward_reduce", kReduction, GivenShape, PerInputElement<5>, AllBytes},
      {"aten.batch_norm_backward_elemt", kReduction, SameAs0, PerElement<6>, AllBytes},
      NormGradientRow("aten.native_batch_norm_backward", PerElement<11>),
      {"aten.avg_pool2d", kReduction, PoolShape, PoolFlops, AllBytes, BackwardAveragePool},
      {"aten.avg_pool2d_backward", kReduction, GivenShape, PoolGradientFlops, AllBytes},
      {"aten.max_pool2d_with_indices", kReduction, PoolShape, PoolFlops, AllBytes, BackwardMaxPool, {}, PlacesOfMaxima},
      {"aten.max_pool2d_with_indices_backward", kReduction, GivenShape, PoolGradientFlops, AllBytes},
  };
}

}  // namespace emplace
