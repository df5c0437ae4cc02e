// What the gradient kernel promises without LibTorch: the derivative, and its memory.
// gradient_parity_test.cc compares it with autograd.
#include "policy/placeto/gradient/placeto_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/allocation_counter.h"
#include "tests/support/naive_policy.h"
#include "tests/support/random_policy.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

class PlacetoGradientOnEveryPath : public testing::TestWithParam<KernelPath> {};

TEST_P(PlacetoGradientOnEveryPath, EqualsFiniteDifferencesOfTheDefinition) {
  Rng rng(51);
  const PlacetoShape shape{.num_devices = 3, .memory_feature = true, .message_rounds = 4, .message_width = 5};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const PlacetoGraph graph = RandomPlacetoGraph(15, shape.num_devices, 3, rng);
  const OwnedState state = RandomPlacetoState(graph, rng);
  const std::vector<float> factors = {0.5F, -1.25F, 2.0F};
  PlacetoGradient kernel(shape, GetParam());
  kernel.SetWeights(weights.values);
  std::vector<float> gradient(weights.values.size());
  kernel.Backward(std::vector<PlacetoState>{state.view()}, factors, gradient);

  // The definition in double precision, so that a small step leaves many digits. All devices, allowed or not.
  PlacetoGraph free = graph;
  std::ranges::fill(free.allowed, uint8_t{1});
  OwnedState free_state = state;
  free_state.graph = &free;
  const auto value_with = [&](size_t parameter, float value) {
    PolicyWeights changed = weights;
    changed.values[parameter] = value;
    const std::vector<double> logits = NaivePlacetoLogits(changed, free_state.view());
    double sum = 0;
    for (size_t d = 0; d < logits.size(); ++d) sum += logits[d] * static_cast<double>(factors[d]);
    return sum;
  };
  int kinks = 0;
  int checked = 0;
  int nonzero = 0;
  for (int sample = 0; sample < 300; ++sample) {
    const auto parameter = static_cast<size_t>(rng.UniformInt(0, std::ssize(gradient) - 1));
    const float value = weights.values[parameter];
    const float above = value + 1e-4F;
    const float below = value - 1e-4F;
    const double here = value_with(parameter, value);
    const double up = (value_with(parameter, above) - here) / (static_cast<double>(above) - static_cast<double>(value));
    const double down =
        (here - value_with(parameter, below)) / (static_cast<double>(value) - static_cast<double>(below));
    ++checked;
    if (std::abs(up - down) > 1e-2 * (std::abs(up) + std::abs(down)) + 1e-4) {
      ++kinks;  // A relu switches within the step: no derivative to compare with.
      continue;
    }
    const double slope = (up + down) / 2;
    EXPECT_NEAR(static_cast<double>(gradient[parameter]), slope, 1e-4 + 2e-3 * std::abs(slope)) << parameter;
    if (std::abs(slope) > 1e-4) ++nonzero;
  }
  EXPECT_GT(nonzero, checked / 4);
  EXPECT_LT(kinks, checked / 10);
}

TEST_P(PlacetoGradientOnEveryPath, AddsToTheGradientItIsGiven) {
  Rng rng(52);
  const PlacetoShape shape{.num_devices = 2};
  PlacetoGradient kernel(shape, GetParam());
  kernel.SetWeights(RandomPlacetoWeights(shape, rng).values);
  const PlacetoGraph graph = RandomPlacetoGraph(12, 2, 3, rng);
  const OwnedState state = RandomPlacetoState(graph, rng);
  const std::vector<PlacetoState> states = {state.view()};
  const std::vector<float> factors = {1.0F, -2.0F};
  std::vector<float> once(static_cast<size_t>(NumParameters(shape)));
  kernel.Backward(states, factors, once);
  std::vector<float> twice = once;
  kernel.Backward(states, factors, twice);
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(twice[i], once[i] + once[i]);
  EXPECT_TRUE(std::ranges::any_of(once, [](float g) { return g != 0; }));
}

TEST_P(PlacetoGradientOnEveryPath, WithoutPoolingItsParametersNeitherCountNorLearn) {
  Rng rng(54);
  for (uint64_t trial = 0; trial < Trials(20); ++trial) {
    PlacetoShape shape = RandomPlacetoShape(rng);
    shape.pooling = false;
    const PlacetoGraph graph =
        RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 40)), shape.num_devices, 3, rng);
    const OwnedState state = RandomPlacetoState(graph, rng);
    const std::vector<PlacetoState> states = {state.view()};
    std::vector<float> values = RandomPlacetoWeights(shape, rng).values;
    PlacetoGradient kernel(shape, GetParam());
    kernel.SetWeights(values);
    std::vector<float> logits(static_cast<size_t>(shape.num_devices));
    kernel.Forward(states, logits);
    std::vector<float> gradient(values.size());
    kernel.Backward(states, std::vector<float>(logits.size(), 1.0F), gradient);

    const std::vector<bool> pooling = IsOfPooling(shape);
    const std::vector<float> other_values = RandomPlacetoWeights(shape, rng).values;
    int learning = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (pooling[i]) {
        EXPECT_EQ(gradient[i], 0.0F) << i;
        values[i] = other_values[i];
      } else if (gradient[i] != 0.0F) {
        ++learning;
      }
    }
    EXPECT_GT(learning, 10);
    kernel.SetWeights(values);
    std::vector<float> other_logits(logits.size());
    kernel.Forward(states, other_logits);
    EXPECT_EQ(other_logits, logits);
  }
}

TEST_P(PlacetoGradientOnEveryPath, AllocatesNothingForMoreStatesOfAGraphItHasSeen) {
  Rng rng(53);
  const PlacetoShape shape{.num_devices = 4};
  PlacetoGradient kernel(shape, GetParam());
  kernel.SetWeights(RandomPlacetoWeights(shape, rng).values);
  const PlacetoGraph graph = RandomPlacetoGraph(50, 4, 3, rng);
  std::vector<OwnedState> owned;
  for (int s = 0; s < 100; ++s) owned.push_back(RandomPlacetoState(graph, rng));
  std::vector<PlacetoState> states;
  for (const OwnedState& state : owned) states.push_back(state.view());
  std::vector<float> logits(400);
  std::vector<float> factors(400, 1.0F);
  std::vector<float> gradient(static_cast<size_t>(NumParameters(shape)));
  kernel.Backward(std::span<const PlacetoState>(states).first(1), std::span<const float>(factors).first(4), gradient);
  const int64_t before = AllocationsSoFar();
  kernel.Forward(states, logits);
  kernel.Backward(states, factors, gradient);
  EXPECT_EQ(AllocationsSoFar(), before);
}

INSTANTIATE_TEST_SUITE_P(EveryPath, PlacetoGradientOnEveryPath, testing::ValuesIn(KernelPaths()),
                         [](const auto& path) { return ToString(path.param); });

}  // namespace
}  // namespace emplace
