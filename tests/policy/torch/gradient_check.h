// Compares a model's gradient with differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "common/rng.h"
#include "policy/model.h"

namespace emplace {

// Of sum(logits * c), for random c, along the gradient.
inline void ExpectGradientIsTheDerivative(Model& model, const std::vector<float>& values,
                                          const std::vector<Trajectory>& episodes, const std::vector<Sample>& samples,
                                          Rng& rng) {
  Decisions decisions;
  model.Forward(values, episodes, samples, decisions);
  std::vector<float> c;
  for (const float logit : decisions.logits) {
    c.push_back(std::isinf(logit) ? 0.0F : static_cast<float>(rng.Uniform(-1, 1)));
  }
  std::vector<float> gradient(values.size());
  model.Backward(c, gradient);
  double square = 0;
  for (const float g : gradient) square += static_cast<double>(g) * static_cast<double>(g);
  const auto moved = [&](double step) {
    std::vector<float> there = values;
    for (size_t i = 0; i < there.size(); ++i) {
      there[i] += static_cast<float>(step * static_cast<double>(gradient[i]) / std::sqrt(square));
    }
    model.Forward(there, episodes, samples, decisions);
    double total = 0;
    for (size_t i = 0; i < c.size(); ++i) {
      if (c[i] != 0.0F) total += static_cast<double>(c[i]) * static_cast<double>(decisions.logits[i]);
    }
    return total;
  };
  // Floats are coarse, and relus and maxima have corners: one between the two points disturbs the difference of one
  // step's length, a wrong gradient all of them.
  std::array<double, 3> slopes{};
  std::ranges::transform(std::array{1e-4, 2e-4, 4e-4}, slopes.begin(),
                         [&](double step) { return (moved(step) - moved(-step)) / (2 * step); });
  std::ranges::sort(slopes);
  EXPECT_NEAR(slopes[1], std::sqrt(square), 0.01 * std::sqrt(square));
}

}  // namespace emplace
