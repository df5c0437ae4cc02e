#include "learner/update/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace emplace {
namespace {

TEST(Optimizer, ClipsALongGradientToItsLimitAndLeavesAShortOne) {
  const std::vector<float> gradient = {3, -4};
  ASSERT_EQ(Norm(gradient), 5);
  const auto mean_after = [&](double clip) {
    AdamState state = InitialAdamState(2);
    std::vector<float> values = {1, 1};
    ClippedAdamStep(gradient, Norm(gradient), clip, 0.1, state, values);
    return state.mean;
  };
  // The first moment after one step is a tenth of the gradient that was used.
  EXPECT_FLOAT_EQ(mean_after(10)[0], 0.3F);
  EXPECT_FLOAT_EQ(mean_after(2.5)[0], 0.15F);
  EXPECT_FLOAT_EQ(mean_after(2.5)[1], -0.2F);
}

TEST(Optimizer, LeavesOutAStepWhoseGradientIsNoNumber) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> gradient = {bad, 1};
    AdamState state = InitialAdamState(2);
    std::vector<float> values = {1, 2};
    ClippedAdamStep(gradient, Norm(gradient), 1, 0.1, state, values);
    EXPECT_EQ(values, (std::vector<float>{1, 2}));
    EXPECT_EQ(state.steps, 0);
  }
}

}  // namespace
}  // namespace emplace
