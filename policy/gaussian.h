// Policies that are a normal distribution over vectors of N numbers, as evolution trains them. Their parameters are
// `mean` [N] and `spread` [N, N], one after the other: mean + spread * z is a draw, where z are N independent standard
// normal numbers. What a policy of a kind does is what its mean says.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/rng.h"
#include "policy/policy_kind.h"

namespace emplace {

struct Gaussian {
  // REQUIRES: values has N + N * N numbers.
  explicit Gaussian(std::span<const float> values) {
    const auto n = static_cast<size_t>(std::sqrt(static_cast<double>(values.size())));
    EMPLACE_CHECK(n + n * n == values.size());
    mean = values.first(n);
    spread = values.subspan(n);
  }

  enum class Side : uint8_t { kPlus, kMinus };

  // Equal numbers and generators give equal bits. kMinus: the draw mirrored at the mean, that is with -z.
  std::vector<float> Draw(Rng rng, Side side = Side::kPlus) const {
    std::vector<double> z(mean.size());
    for (double& number : z) number = side == Side::kPlus ? rng.Normal() : -rng.Normal();
    std::vector<float> drawn;
    for (size_t i = 0; i < mean.size(); ++i) {
      double value = static_cast<double>(mean[i]);
      for (size_t j = 0; j < z.size(); ++j) value += static_cast<double>(spread[i * z.size() + j]) * z[j];
      drawn.push_back(static_cast<float>(value));
    }
    return drawn;
  }

  std::span<const float> mean;
  std::span<const float> spread;
};

inline std::vector<ParameterSpec> GaussianParameters(int64_t n) { return {{"mean", {n}}, {"spread", {n, n}}}; }

}  // namespace emplace
