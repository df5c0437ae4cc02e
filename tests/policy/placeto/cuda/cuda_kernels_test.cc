// The GPU's kernels, run on the host from the same source, equal the LibTorch reference: logits, gradients, loss and
// optimizer step.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/placeto/placeto_shape.h"
#include "tests/support/host_block.h"
#include "tests/support/random_batch.h"
#include "tests/support/random_policy.h"
#include "tests/support/torch_policy.h"

namespace emplace {
namespace {

class PlacetoCudaKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }
};

TEST_F(PlacetoCudaKernels, LogitsAndGradientsEqualLibTorch) {
  Rng rng(41);
  int moved = 0;  // Layers with a gradient worth comparing.
  for (int trial = 0; trial < 40; ++trial) {
    SCOPED_TRACE(trial);
    const PlacetoShape shape = RandomGpuShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const RandomBatch batch(shape, RandomNodeCounts(rng), rng);
    // All graphs in shared memory, or some, or none.
    constexpr int32_t kSmall[] = {70, 30, 0};
    HostPolicy policy(shape, batch.graph_pointers(), RandomLaunchSizes(kSmall[trial % 3], rng), rng.Next());
    policy.SetBatch(batch.sources(), batch.states);

    PlacetoNet net(weights);
    const torch::Tensor logits = TorchForward(net, batch);
    ExpectLogits(policy.Forward(weights.values), Flat(logits));

    std::vector<float> d_logits;
    for (const float logit : Flat(logits)) {
      d_logits.push_back(std::isinf(logit) ? 0 : static_cast<float>(rng.Uniform(-1, 1)));
    }
    logits.backward(torch::tensor(d_logits).view(logits.sizes()));
    const std::vector<float> expected = TorchGradient(net);
    ExpectGradient(shape, policy.Backward(d_logits), expected);
    moved += static_cast<int>(std::ranges::count_if(expected, [](float g) { return std::abs(g) > 1e-3F; }));
    if (HasFailure()) break;
  }
  EXPECT_GT(moved, 10'000);
}

TEST_F(PlacetoCudaKernels, UpdateIsTheStepOfAdamOnTheGradientOfTheLoss) {
  Rng rng(44);
  for (int trial = 0; trial < 8; ++trial) {
    SCOPED_TRACE(trial);
    const PlacetoShape shape = RandomGpuShape(rng);
    PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    HostOptimizer optimizer(weights.values);
    std::vector<torch::Tensor> parameters = {torch::tensor(weights.values, torch::kFloat64).requires_grad_()};
    torch::optim::Adam adam(parameters, torch::optim::AdamOptions(1e-3));
    const RandomBatch batch(shape, RandomNodeCounts(rng), rng);
    HostPolicy policy(shape, batch.graph_pointers(), RandomLaunchSizes(40, rng), rng.Next());
    for (int step = 1; step <= 3; ++step) {
      // Clipped and not.
      const gpu::UpdateScalars scalars{.learning_rate = 1e-3 / step,
                                       .gradient_clip = trial % 2 == 0 ? 0.01 : 1e9,
                                       .entropy_weight = 0.1F,
                                       .importance_clip = 1.5F};
      policy.SetBatch(batch.sources(), batch.states, scalars);
      const TorchLoss expected = LossByTorch(weights, batch, scalars);
      std::vector<float> copy;
      const gpu::UpdateReport report = policy.Update(optimizer.view(), copy);
      const std::vector<float> gradient = policy.Gradient();
      ExpectGradient(shape, gradient, expected.gradient);
      EXPECT_NEAR(report.loss, expected.loss, 1e-5 * (1 + std::abs(expected.loss)));
      EXPECT_NEAR(report.entropy, expected.entropy, 1e-5);
      EXPECT_NEAR(report.mean_importance, expected.mean_importance, 1e-5 * expected.mean_importance);
      double squares = 0;
      for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
      EXPECT_NEAR(report.gradient_norm, std::sqrt(squares), 1e-12 + 1e-9 * std::sqrt(squares));
      EXPECT_EQ(report.adam_steps, step);
      EXPECT_EQ(report.applied, 1);

      // LibTorch's Adam in double, on the gradient that the kernels found.
      const double scale = std::min(1.0, scalars.gradient_clip / std::sqrt(squares));
      std::vector<double> scaled;
      for (const float g : gradient) scaled.push_back(scale * static_cast<double>(g));
      parameters[0].mutable_grad() = torch::tensor(scaled, torch::kFloat64);
      static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options()).lr(scalars.learning_rate);
      adam.step();
      const torch::Tensor values = parameters[0].detach();
      for (size_t i = 0; i < copy.size(); ++i) {
        // Adam divides by the size of the gradient: where that is next to nothing, float's rounding of the moments
        // shows.
        ASSERT_NEAR(static_cast<double>(copy[i]), values.const_data_ptr<double>()[i], 2e-6) << i;
      }
      EXPECT_EQ(copy, optimizer.values);
      weights.values = copy;
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace emplace
