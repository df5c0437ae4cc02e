// The torch-free kernel, the LibTorch reference and the definition in double precision agree.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/placeto/kernel/placeto_kernel.h"
#include "tests/support/naive_policy.h"
#include "tests/support/placeto_net.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

// Tiny tensors: on a machine whose cores are busy, LibTorch's threads would wait for each other most of the time.
class PlacetoParity : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }
};

std::vector<float> TorchLogits(PlacetoNet& net, const PlacetoGraph& graph, const std::vector<PlacetoState>& states) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor logits = net.Forward(MakePlacetoBatch(graph, states, net.shape(), torch::kCPU)).contiguous();
  return std::vector<float>(logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel());
}

void ExpectClose(float actual, double expected) {
  if (std::isinf(expected)) {
    EXPECT_EQ(static_cast<double>(actual), expected);
  } else {
    EXPECT_NEAR(static_cast<double>(actual), expected, 1e-5 * (1 + std::abs(expected)));
  }
}

TEST_F(PlacetoParity, KernelsEqualLibTorchOnRandomGraphsWeightsAndShapes) {
  Rng rng(31);
  double largest = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    PlacetoNet net(weights);
    // Two graphs: the kernels take both in one batch, LibTorch one at a time.
    std::vector<PlacetoGraph> graphs;
    std::vector<OwnedState> states;
    for (int g = 0; g < 2; ++g) {
      graphs.push_back(RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 70)), shape.num_devices, 3, rng));
    }
    for (const PlacetoGraph& graph : graphs) {
      for (int s = 0; s < 3; ++s) states.push_back(RandomPlacetoState(graph, rng));
    }
    const std::vector<PlacetoState> views = Views(states);
    std::vector<float> expected;
    for (size_t g = 0; g < 2; ++g) {
      const auto first = views.begin() + static_cast<ptrdiff_t>(3 * g);
      const std::vector<float> part = TorchLogits(net, graphs[g], std::vector<PlacetoState>(first, first + 3));
      expected.insert(expected.end(), part.begin(), part.end());
    }
    for (const KernelPath path : KernelPaths()) {
      PlacetoKernel kernel(weights, path);
      std::vector<float> logits(expected.size());
      kernel.Forward(views, logits);
      for (size_t i = 0; i < logits.size(); ++i) ExpectClose(logits[i], static_cast<double>(expected[i]));
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "trial " << trial;
    for (const float logit : expected) {
      if (std::isfinite(logit)) largest = std::max(largest, std::abs(static_cast<double>(logit)));
    }
  }
  EXPECT_GT(largest, 2.0);  // Logits near 0 would prove little.
}

TEST_F(PlacetoParity, LibTorchEqualsTheDefinition) {
  Rng rng(32);
  for (int trial = 0; trial < 60; ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    PlacetoNet net(weights);
    const PlacetoGraph graph =
        RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 50)), shape.num_devices, 3, rng);
    const OwnedState state = RandomPlacetoState(graph, rng);
    const std::vector<float> logits = TorchLogits(net, graph, {state.view()});
    const std::vector<double> expected = NaivePlacetoLogits(weights, state.view());
    for (size_t i = 0; i < logits.size(); ++i) ExpectClose(logits[i], expected[i]);
    ASSERT_FALSE(testing::Test::HasFailure()) << "trial " << trial;
  }
}

TEST_F(PlacetoParity, ValuesComeOutAsTheyWentIn) {
  Rng rng(33);
  const PlacetoShape shape = RandomPlacetoShape(rng);
  const PolicyWeights first = RandomPlacetoWeights(shape, rng);
  const PolicyWeights second = RandomPlacetoWeights(shape, rng);
  PlacetoNet net(first);
  EXPECT_EQ(net.Values(), first.values);
  net.SetValues(second.values);
  EXPECT_EQ(net.Values(), second.values);
  EXPECT_EQ(net.Parameters().size(), 2 * PlacetoLayers(shape).size());
}

TEST_F(PlacetoParity, GradientOfLogProbabilityEqualsFiniteDifferences) {
  Rng rng(34);
  const PlacetoShape shape{.num_devices = 3, .memory_feature = true, .message_rounds = 4, .message_width = 5};
  PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  PlacetoGraph graph = RandomPlacetoGraph(15, shape.num_devices, 3, rng);
  std::ranges::fill(graph.allowed, uint8_t{1});
  const OwnedState state = RandomPlacetoState(graph, rng);
  constexpr int64_t kAction = 1;

  PlacetoNet net(weights);
  const std::vector<PlacetoState> states = {state.view()};
  const torch::Tensor logits = net.Forward(MakePlacetoBatch(graph, states, shape, torch::kCPU));
  torch::log_softmax(logits, 1).index({0, kAction}).backward();
  std::vector<float> gradient;  // In the order of PlacetoLayers, as are parameters().
  for (const torch::Tensor& parameter : net.Parameters()) {
    const torch::Tensor flat = parameter.grad().contiguous();
    gradient.insert(gradient.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  ASSERT_EQ(gradient.size(), weights.values.size());

  // The double-precision definition, so that a step of 1e-3 (exact as a float difference below) leaves many digits.
  const auto log_probability = [&](size_t parameter, float value) {
    PolicyWeights changed = weights;
    changed.values[parameter] = value;
    const std::vector<double> logit = NaivePlacetoLogits(changed, state.view());
    double sum = 0;
    for (const double one : logit) sum += std::exp(one);
    return logit[kAction] - std::log(sum);
  };
  size_t next = 0;
  int nonzero = 0;
  int kinks = 0;
  int checked = 0;
  for (const LayerSpec& layer : PlacetoLayers(shape)) {
    // Weights and biases of every layer, a few each.
    const auto count = static_cast<int64_t>(layer.in + 1) * layer.out;
    for (int sample = 0; sample < 6; ++sample) {
      const size_t parameter = next + static_cast<size_t>(rng.UniformInt(0, count - 1));
      const float value = weights.values[parameter];
      const float above = value + 1e-4F;
      const float below = value - 1e-4F;
      const double step_up = static_cast<double>(above) - static_cast<double>(value);
      const double step_down = static_cast<double>(value) - static_cast<double>(below);
      const double here = log_probability(parameter, value);
      const double slope_up = (log_probability(parameter, above) - here) / step_up;
      const double slope_down = (here - log_probability(parameter, below)) / step_down;
      ++checked;
      if (std::abs(slope_up - slope_down) > 1e-2 * (std::abs(slope_up) + std::abs(slope_down)) + 1e-4) {
        ++kinks;  // A relu switches within the step: no derivative to compare with.
        continue;
      }
      const double slope = (slope_up + slope_down) / 2;
      EXPECT_NEAR(static_cast<double>(gradient[parameter]), slope, 1e-4 + 2e-3 * std::abs(slope)) << layer.name;
      if (std::abs(slope) > 1e-4) ++nonzero;
    }
    next += static_cast<size_t>(count);
  }
  EXPECT_GT(nonzero, checked / 4);
  EXPECT_LT(kinks, checked / 10);
}

}  // namespace
}  // namespace emplace
