#include "policy/torch/gpu_model.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <c10/util/env.h>
#include <dlfcn.h>
#include <torch/types.h>

#include <string>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "policy/torch/cuda_half.h"

namespace emplace {
namespace {

// Each call of it costs next to nothing, unlike the CUDA half, which nobody should load in vain.
std::string WhyNoDriver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return StrCat("there is no NVIDIA driver (", ::dlerror(), ")");
  ::dlclose(driver);
  return "";
}

// Keeps what LibTorch would print.
class Remarks final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { last_ = warning.msg(); }
  const std::string& last() const { return last_; }

 private:
  std::string last_;
};

std::string FindWhyNoGpu() {
  if (std::string why_not = WhyNoDriver(); !why_not.empty()) return why_not;
  Remarks remarks;  // On a driver that is too old, for instance. LibTorch makes them once.
  const c10::WarningUtils::WarningHandlerGuard guard(&remarks);
  if (std::string why_not = LoadCudaHalf(); !why_not.empty()) return why_not;
  if (CountGpus() > 0) return "";
  return StrCat("LibTorch finds none on this computer", remarks.last().empty() ? "" : ": ", FirstLine(remarks.last()));
}

// Without these settings LibTorch adds atomically, and so in any order, where gradients of rows that were selected, or
// of attention, meet.
void ComputeReproducibly() {
  at::Context& context = at::globalContext();
  // Where there is no such algorithm, it warns. We use nothing of that sort.
  context.setDeterministicAlgorithms(true, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(false);
  context.setSDPUseMemEfficient(false);
  // cuDNN's LSTM wants its weights in one piece, and has no backward pass but in training mode. LibTorch's own has
  // neither condition; the decoder, which has most of the steps, is not cuDNN's in any case.
  context.setUserEnabledCuDNN(false);
  // What cuBLAS asks for, so that equal input gives equal bits. What the user has set stays.
  c10::utils::set_env("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/false);
}

template <typename Work>
auto Watched(const std::string& device, Work&& work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    throw RunFailed(StrCat(device,
                           " has too little memory for an update, expected more, or more training.shards, "
                           "which are computed one after the other: ",
                           FirstLine(error.what_without_backtrace())));
  } catch (const c10::Error& error) {
    throw RunFailed(StrCat(device, ": LibTorch cannot compute an update: ", FirstLine(error.what_without_backtrace())));
  }
}

class WatchedModel final : public Model {
 public:
  explicit WatchedModel(std::unique_ptr<Model> model) : model_(std::move(model)) {}

  const std::string& device() const override { return model_->device(); }

  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    Watched(device(), [&] { model_->Forward(values, episodes, samples, decisions); });
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    Watched(device(), [&] { model_->Backward(logit_gradient, gradient); });
  }

 private:
  const std::unique_ptr<Model> model_;
};

}  // namespace

std::string WhyNoGpuForModels() {
  static const std::string why_not = FindWhyNoGpu();
  return why_not;
}

std::unique_ptr<Model> MakeModelOnGpu(int32_t gpu, const std::function<std::unique_ptr<Model>(c10::Device)>& make) {
  if (gpu >= CountGpus()) {
    throw RunFailed(StrCat("there is no GPU ", gpu, " on this computer, expected one below ", CountGpus()));
  }
  ComputeReproducibly();
  return MakeWatchedModel(c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(gpu)), make);
}

std::unique_ptr<Model> MakeWatchedModel(c10::Device device,
                                        const std::function<std::unique_ptr<Model>(c10::Device)>& make) {
  return Watched(device.str(), [&]() -> std::unique_ptr<Model> {
    // A GPU that cannot be used at all says so here, before the first update.
    torch::zeros({1}, torch::TensorOptions().device(device)).cpu();
    return std::make_unique<WatchedModel>(make(device));
  });
}

}  // namespace emplace
