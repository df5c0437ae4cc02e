#include "policy/torch/gpu_model.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <memory>
#include <string>

#include "common/error.h"
#include "policy/torch/cuda_half.h"
#include "tests/policy/torch/other_device.h"
#include "tests/policy/torch/played_kind.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Fails in its functions as LibTorch does: by an exception of several lines.
class FailingModel final : public Model {
 public:
  const std::string& device() const override { return device_; }
  void Forward(std::span<const float> /*values*/, std::span<const Trajectory> /*episodes*/,
               std::span<const Sample> /*samples*/, Decisions& /*decisions*/) override {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "tried to allocate 5 GiB\nsee the manual");
  }
  void Backward(std::span<const float> /*logit_gradient*/, std::span<float> /*gradient*/) override {
    TORCH_CHECK(false, "the chip is on fire\nsee the manual");
  }

 private:
  const std::string device_ = "cuda:0";
};

template <typename Work>
std::string MessageOf(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
    return error.what();
  }
  return "";
}

TEST(GpuModel, FailuresAreOneLine) {
  const std::unique_ptr<Model> model =
      MakeWatchedModel(c10::DeviceType::CPU, [](c10::Device) { return std::make_unique<FailingModel>(); });
  Decisions decisions;
  EXPECT_THAT(
      MessageOf([&] { model->Forward({}, {}, {}, decisions); }),
      AllOf(HasSubstr("cuda:0 has too little memory"), HasSubstr("allocate 5 GiB"), Not(HasSubstr("the manual"))));
  EXPECT_THAT(MessageOf([&] { model->Backward({}, {}); }),
              AllOf(HasSubstr("cuda:0: LibTorch cannot"), HasSubstr("on fire"), Not(HasSubstr("the manual"))));
}

TEST(GpuModel, ADeviceThatCannotBeUsedIsRefusedBeforeAModelIsMade) {
  // LibTorch is built without Vulkan.
  EXPECT_THAT(MessageOf([] {
                MakeWatchedModel(c10::DeviceType::Vulkan, [](c10::Device) -> std::unique_ptr<Model> {
                  ADD_FAILURE() << "was made";
                  return nullptr;
                });
              }),
              HasSubstr("vulkan: LibTorch cannot compute"));
}

TEST(OtherDeviceDeathTest, KeepsItsTensorsApartFromThoseOfTheCpu) {
  const at::Tensor here = at::ones({2}, at::TensorOptions().device(OtherDevice()));
  EXPECT_EQ((here + here).cpu().sum().item<float>(), 4);
  EXPECT_EQ((here + at::scalar_tensor(1)).cpu().sum().item<float>(), 4);
  EXPECT_THROW(here + at::ones({2}), c10::Error);
  EXPECT_THROW(at::index_select(here, 0, at::zeros({1}, at::kLong)), c10::Error);
  EXPECT_DEATH(EXPECT_NE(here.data_ptr<float>()[0], 0), "");
}

TEST(GpuModel, OnAnotherDeviceEachKindComputesWhatItComputesOnTheCpu) {
  for (const TorchKindEntry& kind : TorchKinds()) {
    SCOPED_TRACE(kind.name);
    const PlayedKind played(kind, 1);
    const std::unique_ptr<Model> on_cpu = kind.make_model(played.weights.shape, played.tasks, c10::DeviceType::CPU);
    EXPECT_EQ(on_cpu->device(), "cpu");
    const std::unique_ptr<Model> there = kind.make_model(played.weights.shape, played.tasks, OtherDevice());
    EXPECT_EQ(there->device(), OtherDevice().str());
    const ComputedUpdate expected = ComputeUpdate(*on_cpu, played);
    const ComputedUpdate update = ComputeUpdate(*there, played);
    ExpectNear(update.decisions.logits, expected.decisions.logits, 1e-5);
    ExpectNear(update.gradient, expected.gradient, 1e-4);
  }
}

// Each copy makes the processor wait for the GPU. 3 graphs: 3 tensors each are copied once. Then an update copies the
// parameters, and for each run of samples what they have chosen, or the features of their bins, and the slopes; back
// come the logits and the gradient, of the graphs and of the runs.
TEST(GpuModel, GraphsStayOnTheDevice) {
  struct Copies {
    int64_t to;
    int64_t from;
  };
  const std::map<std::string, Copies> expected = {
      {"hierarchical", {1 + 3 + 1 + 3, 1 + 3 + 1 + 3}}, {"rnn", {1 + 3 + 3, 3 + 3}}, {"sgdp", {1 + 3, 3 + 3}}};
  for (const TorchKindEntry& kind : TorchKinds()) {
    SCOPED_TRACE(kind.name);
    const PlayedKind played(kind, 2);
    const std::unique_ptr<Model> there = kind.make_model(played.weights.shape, played.tasks, OtherDevice());
    Copies copies[2] = {};
    for (Copies& of_update : copies) {
      const Copies before = {CopiesToOtherDevice(), CopiesFromOtherDevice()};
      ComputeUpdate(*there, played);
      of_update = {CopiesToOtherDevice() - before.to, CopiesFromOtherDevice() - before.from};
    }
    EXPECT_EQ(copies[0].to - copies[1].to, 3 * 3);
    EXPECT_EQ(copies[1].to, expected.at(kind.name).to);
    EXPECT_EQ(copies[1].from, expected.at(kind.name).from);
    EXPECT_EQ(copies[0].from, copies[1].from);
  }
}

TEST(GpuModel, WhereThereIsNoGpuItSaysWhy) {
  const std::string why_not = WhyNoGpuForModels();
  if (why_not.empty()) GTEST_SKIP() << "this computer has a GPU";
  EXPECT_THAT(why_not, ::testing::AnyOf(HasSubstr("no NVIDIA driver (libcuda.so.1"), HasSubstr("without its CUDA half"),
                                        HasSubstr("finds none")));
  if (LoadCudaHalf().empty() && CountGpus() == 0) {
    EXPECT_THAT(MessageOf([] { MakeModelOnGpu(0, [](c10::Device) { return nullptr; }); }),
                HasSubstr("there is no GPU 0"));
  }
}

}  // namespace
}  // namespace emplace
