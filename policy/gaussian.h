// Policies that are a normal distribution over vectors of N numbers, as evolution trains them. Their parameters are
// `mean` [N] and `spread` [N, N], one after the other: mean + spread * z is a draw, where z are N independent standard
// normal numbers. What a policy of a kind does is what its mean says. A policy may have K complements after these,
// `complements` [K, N]: vectors that do well where the mean and the complements before them do not. They are no part of
// the distribution, and training leaves them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/rng.h"
#include "policy/policy_kind.h"
#include "policy/policy_weights.h"

namespace emplace {

// Sizes of the shape of such a policy: N and K.
inline constexpr char kGaussianParameters[] = "parameters";
inline constexpr char kComplements[] = "complements";

struct Gaussian {
  // REQUIRES: weights are of a kind that plans, and outlive this.
  explicit Gaussian(const PolicyWeights& weights) {
    const auto n = static_cast<size_t>(weights.shape.sizes.at(kGaussianParameters));
    const auto k = static_cast<size_t>(weights.shape.sizes.at(kComplements));
    const std::span<const float> values = weights.values;
    EMPLACE_CHECK(values.size() == n + n * n + k * n);
    mean = values.first(n);
    spread = values.subspan(n, n * n);
    for (size_t i = 0; i < k; ++i) complements.push_back(values.subspan(n + n * n + i * n, n));
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
  std::vector<std::span<const float>> complements;
};

// k: the number of complements.
inline std::vector<ParameterSpec> GaussianParameters(int64_t n, int64_t k) {
  std::vector<ParameterSpec> parameters = {{"mean", {n}}, {"spread", {n, n}}};
  if (k > 0) parameters.push_back({"complements", {k, n}});
  return parameters;
}

}  // namespace emplace
