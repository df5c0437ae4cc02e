#include "simulator/families/workloads/conv_layers.h"

#include <tuple>

namespace emplace {
namespace {

Size2 KeepingSize(Size2 kernel) { return {(kernel[0] - 1) / 2, (kernel[1] - 1) / 2}; }

OpAttributes Window(int64_t kernel, int64_t stride, int64_t padding) {
  return {.kernel = {kernel, kernel}, .stride = {stride, stride}, .padding = {padding, padding}};
}

}  // namespace

TensorId ConvLayers::Convolution(const std::string& name, TensorId x, int64_t out, Size2 kernel, int64_t stride) {
  return Convolution(name, x, out, kernel, stride, KeepingSize(kernel));
}

TensorId ConvLayers::Convolution(const std::string& name, TensorId x, int64_t out, Size2 kernel, int64_t stride,
                                 Size2 padding) {
  const TensorId weight = p_.Parameter(name + "/weight", {out, channels(x), kernel[0], kernel[1]});
  return p_.Add(name, "aten.convolution", {x, weight}, {.stride = {stride, stride}, .padding = padding});
}

TensorId ConvLayers::Depthwise(const std::string& name, TensorId x, int64_t kernel, int64_t stride) {
  const TensorId weight = p_.Parameter(name + "/weight", {channels(x), 1, kernel, kernel});
  return p_.Add(name, "aten.convolution", {x, weight},
                {.stride = {stride, stride}, .padding = KeepingSize({kernel, kernel}), .channel_groups = channels(x)});
}

TensorId ConvLayers::BatchNorm(const std::string& name, TensorId x) {
  const TensorId affine = p_.Parameter(name + "/affine", {2, channels(x)});
  return p_.Add(name, "aten.native_batch_norm", {x, affine});
}

TensorId ConvLayers::Relu(const std::string& name, TensorId x) { return p_.Add(name, "aten.relu", {x}); }

TensorId ConvLayers::AveragePool(const std::string& name, TensorId x, int64_t kernel, int64_t stride, int64_t padding) {
  return p_.Add(name, "aten.avg_pool2d", {x}, Window(kernel, stride, padding));
}

TensorId ConvLayers::MaxPool(const std::string& name, TensorId x, int64_t kernel, int64_t stride, int64_t padding) {
  return p_.Add(name, "aten.max_pool2d_with_indices", {x}, Window(kernel, stride, padding));
}

TensorId ConvLayers::Concatenate(const std::string& name, const std::vector<TensorId>& parts) {
  return parts.size() == 1 ? parts.front() : p_.Add(name, "aten.cat", parts, {.dim = 1});
}

TensorId ConvLayers::Sum(const std::string& name, TensorId a, TensorId b) { return p_.Add(name, "aten.add", {a, b}); }

TensorId ConvLayers::Calibrate(const std::string& name, TensorId x, int64_t out) {
  return BatchNorm(name + "/bn", Convolution(name + "/conv", Relu(name + "/relu", x), out, {1, 1}));
}

TensorId ConvLayers::SeparableTwice(const std::string& name, TensorId x, int64_t out, int64_t kernel, int64_t stride) {
  for (const char* const part : {"/1", "/2"}) {
    const std::string n = name + part;
    x = Depthwise(n + "/depthwise", Relu(n + "/relu", x), kernel, stride);
    x = BatchNorm(n + "/bn", Convolution(n + "/pointwise", x, out, {1, 1}));
    stride = 1;
  }
  return x;
}

TensorId ConvLayers::FactorizedReduction(const std::string& name, TensorId x, int64_t out) {
  const TensorId odd = p_.Add(name + "/shift", "aten.constant_pad_nd", {x}, {.pad = {-1, 1, -1, 1}});
  std::vector<TensorId> halves;
  for (const auto& [part, from, width] : {std::tuple("/even", x, out / 2), std::tuple("/odd", odd, out - out / 2)}) {
    const std::string n = name + part;
    halves.push_back(Convolution(n + "/conv", AveragePool(n + "/pick", from, 1, 2, 0), width, {1, 1}));
  }
  return BatchNorm(name + "/bn", Concatenate(name + "/cat", halves));
}

CellInputs ConvLayers::Adjust(const std::string& name, CellInputs inputs, int64_t out) {
  CellInputs adjusted = {Calibrate(name + "/h", inputs.previous, out), inputs.before};
  if (inputs.before < 0) {
    adjusted.before = inputs.previous;
  } else if (height(inputs.before) != height(inputs.previous)) {
    adjusted.before = FactorizedReduction(name + "/p", Relu(name + "/p/relu", inputs.before), out);
  } else if (channels(inputs.before) != out) {
    adjusted.before = Calibrate(name + "/p", inputs.before, out);
  }
  return adjusted;
}

TensorId ConvLayers::Classify(const std::string& name, TensorId x, TensorId labels, int64_t classes) {
  const int64_t images = p_.tensor(x).shape[0];
  const int64_t width = channels(x);
  const TensorId pooled = AveragePool(name + "/pool", x, height(x), 1, 0);
  const TensorId weight = p_.Parameter(name + "/weight", {width, classes});
  const TensorId bias = p_.Parameter(name + "/bias", {classes});
  const TensorId logits = p_.Add(name + "/linear", "aten.addmm", {bias, p_.Reshape(pooled, {images, width}), weight});
  const TensorId log_probs = p_.Add(name + "/log_softmax", "aten._log_softmax", {logits});
  return p_.Add(name + "/nll", "aten.nll_loss_forward", {log_probs, labels});
}

}  // namespace emplace
