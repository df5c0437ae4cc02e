// The gradient kernel against LibTorch's autograd through the reference, for every path of this processor.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "policy/placeto/gradient/placeto_gradient.h"
#include "tests/support/placeto_net.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

class GradientParity : public testing::TestWithParam<KernelPath> {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }
};

// A loss whose gradient differs from logit to logit; devices that are not allowed add nothing.
torch::Tensor Loss(const torch::Tensor& logits, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> factors;
  for (int64_t i = 0; i < logits.numel(); ++i) factors.push_back(static_cast<float>(rng.Uniform(-1, 1)));
  const torch::Tensor log_probs = torch::log_softmax(logits, 1);
  const torch::Tensor finite = log_probs.masked_fill(log_probs.isinf(), 0.0);
  return (finite * torch::tensor(factors).view(logits.sizes())).sum();
}

std::vector<float> Flat(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

double Largest(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

struct Outcome {
  std::vector<float> logits;
  std::vector<float> gradient;
};

// Graph by graph, since the reference takes one at a time.
Outcome Reference(const PolicyWeights& weights, const std::vector<PlacetoState>& states, uint64_t seed) {
  PlacetoNet net(weights);
  std::vector<torch::Tensor> logits;
  for (size_t first = 0; first < states.size();) {
    const PlacetoGraph& graph = *states[first].graph;
    std::vector<PlacetoState> part;
    for (; first < states.size() && states[first].graph == &graph; ++first) part.push_back(states[first]);
    logits.push_back(net.Forward(MakePlacetoBatch(graph, part, net.shape(), torch::kCPU)));
  }
  const torch::Tensor all = torch::cat(logits);
  Loss(all, seed).backward();
  Outcome outcome{Flat(all), {}};
  for (const torch::Tensor& parameter : net.Parameters()) {
    const std::vector<float> part = parameter.grad().defined()
                                        ? Flat(parameter.grad())
                                        : std::vector<float>(static_cast<size_t>(parameter.numel()));
    outcome.gradient.insert(outcome.gradient.end(), part.begin(), part.end());
  }
  return outcome;
}

Outcome ByKernel(const PolicyWeights& weights, PlacetoGradient& kernel, const std::vector<PlacetoState>& states,
                 uint64_t seed) {
  Outcome outcome;
  outcome.logits.resize(states.size() * static_cast<size_t>(states[0].graph->num_devices));
  kernel.SetWeights(weights.values);
  kernel.Forward(states, outcome.logits);
  auto logit = outcome.logits.begin();
  std::vector<bool> allowed;
  for (const PlacetoState& state : states) {
    for (int32_t device = 0; device < state.graph->num_devices; ++device, ++logit) {
      allowed.push_back(state.graph->allowed[static_cast<size_t>(state.step * state.graph->num_devices + device)] != 0);
      if (!allowed.back()) *logit = -std::numeric_limits<float>::infinity();
    }
  }
  const torch::Tensor logits =
      torch::tensor(outcome.logits).view({std::ssize(states), -1}).detach().requires_grad_(true);
  Loss(logits, seed).backward();
  std::vector<float> logit_gradient = Flat(logits.grad());
  for (size_t i = 0; i < allowed.size(); ++i) {
    if (!allowed[i]) logit_gradient[i] = 0;
  }
  outcome.gradient.resize(weights.values.size());
  kernel.Backward(states, logit_gradient, outcome.gradient);
  return outcome;
}

// Every parameter within [low, high], give or take 1e-4 of it; where its terms cancel, of a hundredth of the largest.
bool IsClose(const std::vector<float>& gradient, const std::vector<float>& low, const std::vector<float>& high) {
  const double floor = 1e-2 * std::max(Largest(low), Largest(high)) + 1e-6;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const auto value = static_cast<double>(gradient[i]);
    const double margin = 1e-4 * (std::abs(value) + floor);
    if (value < static_cast<double>(low[i]) - margin || value > static_cast<double>(high[i]) + margin) return false;
  }
  return true;
}

TEST_P(GradientParity, EqualsAutogradThroughTheReference) {
  Rng rng(41);
  double largest = 0;
  int kinks = 0;
  for (uint64_t trial = 0; trial < 120; ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    std::vector<PlacetoGraph> graphs;
    std::vector<OwnedState> states;
    for (int g = 0; g < 3; ++g) {
      graphs.push_back(RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 70)), shape.num_devices, 3, rng));
    }
    // Less than a tile, a tile exactly and more.
    for (const PlacetoGraph& graph : graphs) {
      const int64_t count = rng.UniformInt(1, 40);
      for (int64_t s = 0; s < count; ++s) states.push_back(RandomPlacetoState(graph, rng));
    }
    const Outcome expected = Reference(weights, Views(states), trial);
    PlacetoGradient kernel(shape, GetParam());
    const Outcome actual = ByKernel(weights, kernel, Views(states), trial);
    ASSERT_EQ(actual.logits.size(), expected.logits.size());
    for (size_t i = 0; i < expected.logits.size(); ++i) {
      const auto logit = static_cast<double>(expected.logits[i]);
      if (std::isinf(logit)) {
        ASSERT_EQ(static_cast<double>(actual.logits[i]), logit);
      } else {
        ASSERT_NEAR(static_cast<double>(actual.logits[i]), logit, 1e-5 * (1 + std::abs(logit))) << "trial " << trial;
      }
    }
    if (!IsClose(actual.gradient, expected.gradient, expected.gradient)) {
      // A relu whose input is 0 but for rounding switches in one and not in the other. Then the reference's own
      // gradient jumps as far when its weights move by their last bits.
      ++kinks;
      std::vector<float> low = expected.gradient;
      std::vector<float> high = expected.gradient;
      for (int nudge = 0; nudge < 16; ++nudge) {
        PolicyWeights nudged = weights;
        for (float& value : nudged.values) value *= 1 + static_cast<float>(rng.Uniform(-1e-6, 1e-6));
        const std::vector<float> gradient = Reference(nudged, Views(states), trial).gradient;
        for (size_t i = 0; i < gradient.size(); ++i) {
          low[i] = std::min(low[i], gradient[i]);
          high[i] = std::max(high[i], gradient[i]);
        }
      }
      EXPECT_TRUE(IsClose(actual.gradient, low, high)) << "trial " << trial;
    }
    largest = std::max(largest, Largest(expected.gradient));
  }
  EXPECT_LT(kinks, 6);
  EXPECT_GT(largest, 1.0);  // Gradients near 0 would prove little.
}

TEST_P(GradientParity, GivesEqualBitsWhateverTheKernelDidBefore) {
  Rng rng(42);
  const PlacetoShape shape{.num_devices = 4, .memory_feature = true};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const PlacetoGraph large = RandomPlacetoGraph(60, 4, 3, rng);
  const PlacetoGraph small = RandomPlacetoGraph(9, 4, 3, rng);
  std::vector<OwnedState> states;
  for (int s = 0; s < 20; ++s) states.push_back(RandomPlacetoState(small, rng));
  PlacetoGradient fresh(shape, GetParam());
  const Outcome expected = ByKernel(weights, fresh, Views(states), 1);

  PlacetoGradient used(shape, GetParam());
  std::vector<OwnedState> others;
  for (int s = 0; s < 20; ++s) others.push_back(RandomPlacetoState(large, rng));
  ByKernel(RandomPlacetoWeights(shape, rng), used, Views(others), 2);
  const Outcome actual = ByKernel(weights, used, Views(states), 1);
  EXPECT_EQ(actual.logits, expected.logits);
  EXPECT_EQ(actual.gradient, expected.gradient);
}

TEST_P(GradientParity, AStateHasTheSameLogitsAloneAndAmongOthers) {
  Rng rng(43);
  const PlacetoShape shape = {.num_devices = 3};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const PlacetoGraph graph = RandomPlacetoGraph(40, 3, 3, rng);
  std::vector<OwnedState> states;
  for (int s = 0; s < 37; ++s) states.push_back(RandomPlacetoState(graph, rng));
  PlacetoGradient kernel(shape, GetParam());
  kernel.SetWeights(weights.values);
  std::vector<float> together(37 * 3);
  kernel.Forward(Views(states), together);
  for (size_t s = 0; s < states.size(); ++s) {
    std::vector<float> alone(3);
    kernel.Forward(std::vector<PlacetoState>{states[s].view()}, alone);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<ptrdiff_t>(3 * s)));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPath, GradientParity, testing::ValuesIn(KernelPaths()),
                         [](const auto& path) { return ToString(path.param); });

}  // namespace
}  // namespace emplace
