#include "simulator/families/workloads/inception_v3.h"

#include <string>

#include "simulator/families/workloads/conv_layers.h"

namespace emplace {
namespace {

constexpr Size2 k1x1 = {1, 1};
constexpr Size2 k3x3 = {3, 3};
constexpr Size2 k1x7 = {1, 7};
constexpr Size2 k7x1 = {7, 1};
constexpr Size2 k1x3 = {1, 3};
constexpr Size2 k3x1 = {3, 1};
constexpr double kAuxiliaryLossWeight = 0.4;

class InceptionBuilder {
 public:
  InceptionBuilder(const InceptionV3Model& model, TensorProgram& program)
      : model_(model), program_(program), layers_(program) {}

  TensorId Build() {
    program_.SetStage(0);  // The stem; then a stage a module.
    TensorId x = program_.Input("images", {model_.batch, 3, model_.image, model_.image});
    const TensorId labels = program_.IdInput("labels", {model_.batch});
    x = Valid("stem/1a", x, 32, k3x3, 2);
    x = Valid("stem/2a", x, 32, k3x3, 1);
    x = Same("stem/2b", x, 64, k3x3);
    x = layers_.MaxPool("stem/pool1", x, 3, 2, 0);
    x = Same("stem/3b", x, 80, k1x1);
    x = Valid("stem/4a", x, 192, k3x3, 1);
    x = layers_.MaxPool("stem/pool2", x, 3, 2, 0);
    x = ModuleA("5b", x, 32);
    x = ModuleA("5c", x, 64);
    x = ModuleA("5d", x, 64);
    x = ModuleB("6a", x);
    x = ModuleC("6b", x, 128);
    x = ModuleC("6c", x, 160);
    x = ModuleC("6d", x, 160);
    x = ModuleC("6e", x, 192);
    const TensorId auxiliary_loss = AuxiliaryHead(x, labels);
    x = ModuleD("7a", x);
    x = ModuleE("7b", x);
    x = ModuleE("7c", x);
    const TensorId loss = layers_.Classify("head", x, labels, model_.classes);
    return layers_.Sum("loss", loss,
                       program_.Add("aux/weigh", "aten.div", {auxiliary_loss}, {.divisor = 1 / kAuxiliaryLossWeight}));
  }

 private:
  // Convolution, batch norm, ReLU.
  TensorId Unit(const std::string& name, TensorId x, int64_t channels, Size2 kernel, int64_t stride, Size2 padding) {
    x = layers_.Convolution(name + "/conv", x, channels / model_.divisor, kernel, stride, padding);
    return layers_.Relu(name + "/relu", layers_.BatchNorm(name + "/bn", x));
  }
  TensorId Same(const std::string& name, TensorId x, int64_t channels, Size2 kernel) {
    return Unit(name, x, channels, kernel, 1, {kernel[0] / 2, kernel[1] / 2});
  }
  TensorId Valid(const std::string& name, TensorId x, int64_t channels, Size2 kernel, int64_t stride) {
    return Unit(name, x, channels, kernel, stride, {0, 0});
  }
  TensorId Pooled(const std::string& name, TensorId x, int64_t channels) {
    return Same(name + "/pool_proj", layers_.AveragePool(name + "/pool", x, 3, 1, 1), channels, k1x1);
  }

  TensorId ModuleA(const std::string& n, TensorId x, int64_t pool_channels) {
    program_.SetStage(++stage_);
    const TensorId b1 = Same(n + "/1x1", x, 64, k1x1);
    const TensorId b5 = Same(n + "/5x5_2", Same(n + "/5x5_1", x, 48, k1x1), 64, {5, 5});
    TensorId b3 = Same(n + "/dbl_1", x, 64, k1x1);
    b3 = Same(n + "/dbl_3", Same(n + "/dbl_2", b3, 96, k3x3), 96, k3x3);
    return layers_.Concatenate(n + "/cat", {b1, b5, b3, Pooled(n, x, pool_channels)});
  }

  TensorId ModuleB(const std::string& n, TensorId x) {
    program_.SetStage(++stage_);
    const TensorId b3 = Valid(n + "/3x3", x, 384, k3x3, 2);
    TensorId dbl = Same(n + "/dbl_2", Same(n + "/dbl_1", x, 64, k1x1), 96, k3x3);
    dbl = Valid(n + "/dbl_3", dbl, 96, k3x3, 2);
    return layers_.Concatenate(n + "/cat", {b3, dbl, layers_.MaxPool(n + "/pool", x, 3, 2, 0)});
  }

  TensorId ModuleC(const std::string& n, TensorId x, int64_t c7) {
    program_.SetStage(++stage_);
    const TensorId b1 = Same(n + "/1x1", x, 192, k1x1);
    TensorId b7 = Same(n + "/7x7_2", Same(n + "/7x7_1", x, c7, k1x1), c7, k1x7);
    b7 = Same(n + "/7x7_3", b7, 192, k7x1);
    TensorId dbl = Same(n + "/dbl_2", Same(n + "/dbl_1", x, c7, k1x1), c7, k7x1);
    dbl = Same(n + "/dbl_4", Same(n + "/dbl_3", dbl, c7, k1x7), c7, k7x1);
    dbl = Same(n + "/dbl_5", dbl, 192, k1x7);
    return layers_.Concatenate(n + "/cat", {b1, b7, dbl, Pooled(n, x, 192)});
  }

  TensorId ModuleD(const std::string& n, TensorId x) {
    program_.SetStage(++stage_);
    const TensorId b3 = Valid(n + "/3x3_2", Same(n + "/3x3_1", x, 192, k1x1), 320, k3x3, 2);
    TensorId b7 = Same(n + "/7x7_2", Same(n + "/7x7_1", x, 192, k1x1), 192, k1x7);
    b7 = Valid(n + "/7x7_4", Same(n + "/7x7_3", b7, 192, k7x1), 192, k3x3, 2);
    return layers_.Concatenate(n + "/cat", {b3, b7, layers_.MaxPool(n + "/pool", x, 3, 2, 0)});
  }

  TensorId ModuleE(const std::string& n, TensorId x) {
    program_.SetStage(++stage_);
    const TensorId b1 = Same(n + "/1x1", x, 320, k1x1);
    const TensorId b3 = Fork(n + "/3x3", Same(n + "/3x3_1", x, 384, k1x1));
    const TensorId dbl = Fork(n + "/dbl", Same(n + "/dbl_2", Same(n + "/dbl_1", x, 448, k1x1), 384, k3x3));
    return layers_.Concatenate(n + "/cat", {b1, b3, dbl, Pooled(n, x, 192)});
  }

  TensorId Fork(const std::string& n, TensorId x) {
    return layers_.Concatenate(n + "_cat", {Same(n + "_a", x, 384, k1x3), Same(n + "_b", x, 384, k3x1)});
  }

  TensorId AuxiliaryHead(TensorId x, TensorId labels) {
    x = Same("aux/1", layers_.AveragePool("aux/pool", x, 5, 3, 0), 128, k1x1);
    x = Valid("aux/2", x, 768, {5, 5}, 1);
    return layers_.Classify("aux/head", x, labels, model_.classes);
  }

  const InceptionV3Model& model_;
  TensorProgram& program_;
  ConvLayers layers_;
  int32_t stage_ = 0;
};

}  // namespace

TensorProgram BuildInceptionV3(const InceptionV3Model& model, const StepOptions& options) {
  return BuildModelStep<InceptionBuilder>(model, options, Optimizer::kMomentum);
}

}  // namespace emplace
