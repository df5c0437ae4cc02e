// The kinds on LibTorch on a GPU compute what they compute on the CPU. Skips itself, and says so, where there is none.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "policy/torch/gpu_model.h"
#include "tests/policy/torch/played_kind.h"

namespace emplace {
namespace {

class TorchGpu : public ::testing::TestWithParam<TorchKindEntry> {
 protected:
  void SetUp() override {
    if (const std::string why_not = WhyNoGpuForModels(); !why_not.empty()) {
      GTEST_SKIP() << "no GPU to test on: " << why_not;
    }
  }

  static std::unique_ptr<Model> MakeOnGpu(const PlayedKind& played) {
    return MakeModelOnGpu(
        0, [&](c10::Device device) { return GetParam().make_model(played.weights.shape, played.tasks, device); });
  }
};

TEST_P(TorchGpu, ComputesWhatTheCpuComputes) {
  const PlayedKind played(GetParam(), 1);
  const std::unique_ptr<Model> on_gpu = MakeOnGpu(played);
  EXPECT_EQ(on_gpu->device(), "cuda:0");
  const ComputedUpdate update = ComputeUpdate(*on_gpu, played);
  const std::unique_ptr<Model> on_cpu = GetParam().make_model(played.weights.shape, played.tasks, c10::DeviceType::CPU);
  const ComputedUpdate expected = ComputeUpdate(*on_cpu, played);
  // Products of TF32 would differ by 1e-3.
  ExpectNear(update.decisions.logits, expected.decisions.logits, 2e-5);
  ExpectNear(update.gradient, expected.gradient, 1e-4);
}

TEST_P(TorchGpu, EqualInputGivesEqualBits) {
  const PlayedKind played(GetParam(), 2);
  const ComputedUpdate first = ComputeUpdate(*MakeOnGpu(played), played);
  for (int again = 0; again < 5; ++again) {
    const ComputedUpdate update = ComputeUpdate(*MakeOnGpu(played), played);
    ASSERT_EQ(update.decisions.logits, first.decisions.logits);
    ASSERT_EQ(update.gradient, first.gradient);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TorchGpu, ::testing::ValuesIn(TorchKinds()),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace emplace
