#include "simulator/families/workloads/wavenet.h"

#include <string>

#include "common/strings.h"

namespace emplace {
namespace {

constexpr int64_t kKernel = 2;  // A convolution reads a sample and one earlier sample, as in the paper's figure 3.

// Signals are images [N, C, T, 1]: time is the height.
class WavenetBuilder {
 public:
  WavenetBuilder(const WavenetModel& model, TensorProgram& program) : model_(model), p_(program) {}

  TensorId Build() {
    p_.SetStage(0);  // The first convolution; then a stage a layer; then the head.
    const int64_t samples = model_.batch * model_.samples;
    const TensorId waveform = p_.Input("waveform", {model_.batch, model_.levels, model_.samples, 1});  // One-hot.
    // The input is one sample late: sample t is predicted from those before it.
    const TensorId labels = p_.IdInput("labels", {samples});
    TensorId x = Causal("first", waveform, model_.channels, 1);
    TensorId skips = -1;
    const int64_t layers = model_.stacks * model_.stack_layers;
    for (int64_t layer = 0; layer < layers; ++layer) {
      p_.SetStage(static_cast<int32_t>(layer + 1));
      const std::string n = StrCat("l", layer);
      const TensorId gated = Gated(n, x, int64_t{1} << (layer % model_.stack_layers));
      const TensorId skip = Pointwise(n + "/skip", gated, model_.skip);
      skips = skips < 0 ? skip : p_.Add(n + "/skips", "aten.add", {skips, skip});
      if (layer + 1 == layers) break;  // Nobody would read it.
      x = p_.Add(n + "/residual", "aten.add", {Pointwise(n + "/out", gated, model_.channels), x});
    }
    p_.SetStage(static_cast<int32_t>(layers + 1));
    x = Pointwise("head/1", p_.Add("head/relu1", "aten.relu", {skips}), model_.skip);
    x = Pointwise("head/2", p_.Add("head/relu2", "aten.relu", {x}), model_.levels);
    const TensorId by_sample = p_.Add("head/by_sample", "aten.permute_copy", {x}, {.dims = {0, 2, 3, 1}});
    const TensorId logits = p_.Reshape(by_sample, {samples, model_.levels});
    const TensorId log_probs = p_.Add("head/log_softmax", "aten._log_softmax", {logits});
    return p_.Add("loss", "aten.nll_loss_forward", {log_probs, labels});
  }

 private:
  int64_t Channels(TensorId x) const { return p_.tensor(x).shape[1]; }

  TensorId Convolution(const std::string& name, TensorId x, int64_t channels, int64_t kernel, int64_t dilation) {
    const TensorId weight = p_.Parameter(name + "/weight", {channels, Channels(x), kernel, 1});
    const TensorId bias = p_.Parameter(name + "/bias", {channels});
    return p_.Add(name, "aten.convolution", {x, weight, bias}, {.dilation = {dilation, 1}});
  }
  TensorId Pointwise(const std::string& name, TensorId x, int64_t channels) {
    return Convolution(name, x, channels, 1, 1);
  }
  // Zeros before the first sample keep the length, and let no sample see a later one.
  TensorId Causal(const std::string& name, TensorId x, int64_t channels, int64_t dilation) {
    const TensorId padded =
        p_.Add(name + "/pad", "aten.constant_pad_nd", {x}, {.pad = {0, 0, (kKernel - 1) * dilation, 0}});
    return Convolution(name, padded, channels, kKernel, dilation);
  }

  // tanh(filter) * sigmoid(gate); one convolution computes both.
  TensorId Gated(const std::string& n, TensorId x, int64_t dilation) {
    const TensorId both = Causal(n + "/dilated", x, 2 * model_.channels, dilation);
    const TensorId filter = p_.Add(n + "/filter", "aten.tanh", {p_.Slice(both, 1, 0, model_.channels)});
    const TensorId gate = p_.Add(n + "/gate", "aten.sigmoid", {p_.Slice(both, 1, model_.channels, model_.channels)});
    return p_.Add(n + "/gated", "aten.mul", {filter, gate});
  }

  const WavenetModel& model_;
  TensorProgram& p_;
};

}  // namespace

TensorProgram BuildWavenet(const WavenetModel& model, const StepOptions& options) {
  return BuildModelStep<WavenetBuilder>(model, options, Optimizer::kAdam);
}

}  // namespace emplace
