// The learner's engine on a GPU makes the steps of the one on the CPU. Skips itself, and says so, where there is no
// GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "learner/update/make_engine.h"
#include "learner/update/objective/reinforce_loss.h"
#include "policy/models.h"
#include "tests/learner/episodes.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

// By whole steps, and by the model, whose gradient is in shards.
void ExpectStepsOfTheCpu(int64_t shards) {
  const std::string why_not = WhyNoGpu(PlacetoShape{});
  if (!why_not.empty()) GTEST_SKIP() << "no GPU to test on: " << why_not;
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(1, 5);
  Rng rng(3);
  const PolicyWeights weights = RandomPlacetoWeights(PlacetoShape::Of(SmallPolicy(0).shape), rng);
  const std::vector<Trajectory> episodes = Episodes(tasks, EnvironmentConfig(), weights, 12, Rng(2));
  std::vector<Sample> samples;
  std::vector<float> advantages;
  std::vector<float> lags;
  for (size_t e = 0; e < episodes.size(); ++e) {
    for (int32_t t = 0; t < std::ssize(episodes[e].actions); ++t) {
      samples.push_back({e, t});
      advantages.push_back(static_cast<float>(rng.Uniform(-1, 1)));
      lags.push_back(e % 2 == 0 ? 1.0F : 0.0F);
    }
  }
  const auto engine_on = [&](LearnerDevice device) {
    TrainingConfig config;
    config.shards = shards;
    config.device = device;
    return MakeEngine(config, tasks, weights);
  };
  const std::unique_ptr<UpdateEngine> cpu = engine_on(LearnerDevice::kCpu);
  const std::unique_ptr<UpdateEngine> cuda = engine_on(LearnerDevice::kCuda);
  EXPECT_EQ(cuda->device(), "cuda:0");
  std::vector<float> expected(weights.values.size());
  std::vector<float> values(weights.values.size());
  const ReinforceLoss loss(/*clip=*/2, /*entropy=*/0.05);
  for (int step = 0; step < 3; ++step) {
    const UpdateInputs inputs{{.episodes = episodes,
                               .samples = samples,
                               .advantages = advantages,
                               .lags = lags,
                               .gradient_clip = 1,
                               .learning_rate = 1e-3},
                              loss};
    const StepOutcome on_cpu = cpu->Step(inputs, expected);
    const StepOutcome on_cuda = cuda->Step(inputs, values);
    EXPECT_NEAR(on_cuda.loss, on_cpu.loss, 1e-4);
    EXPECT_NEAR(on_cuda.entropy, on_cpu.entropy, 1e-4);
    EXPECT_NEAR(on_cuda.mean_importance, on_cpu.mean_importance, 1e-3);
    EXPECT_NEAR(on_cuda.gradient_norm, on_cpu.gradient_norm, 1e-3 * on_cpu.gradient_norm);
    double error = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      error += std::abs(static_cast<double>(values[i]) - static_cast<double>(expected[i]));
    }
    EXPECT_LT(error / static_cast<double>(values.size()), 2e-5);
    cuda->LoadAdam(cpu->SaveAdam());
    EXPECT_EQ(cuda->SaveAdam().mean, cpu->SaveAdam().mean);
  }
}

TEST(GpuEngine, StepsAsTheCpuEngineDoes) { ExpectStepsOfTheCpu(1); }
TEST(GpuEngine, InShardsItStepsAsTheCpuEngineDoes) { ExpectStepsOfTheCpu(3); }

}  // namespace
}  // namespace emplace
