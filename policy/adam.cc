#include "policy/adam.h"

#include <cmath>

#include "common/error.h"

namespace emplace {

AdamState InitialAdamState(size_t parameters) {
  return {.steps = 0, .mean = std::vector<float>(parameters), .variance = std::vector<float>(parameters)};
}

void AdamStep(std::span<const float> gradient, double scale, double learning_rate, AdamState& state,
              std::span<float> values) {
  EMPLACE_CHECK(gradient.size() == values.size() && state.mean.size() == values.size());
  ++state.steps;
  const double correction1 = 1 - std::pow(kAdamBeta1, static_cast<double>(state.steps));
  const double correction2 = 1 - std::pow(kAdamBeta2, static_cast<double>(state.steps));
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = scale * static_cast<double>(gradient[i]);
    const double mean = kAdamBeta1 * static_cast<double>(state.mean[i]) + (1 - kAdamBeta1) * g;
    const double variance = kAdamBeta2 * static_cast<double>(state.variance[i]) + (1 - kAdamBeta2) * g * g;
    state.mean[i] = static_cast<float>(mean);
    state.variance[i] = static_cast<float>(variance);
    const double step = learning_rate * (mean / correction1) / (std::sqrt(variance / correction2) + kAdamEpsilon);
    values[i] = static_cast<float>(static_cast<double>(values[i]) - step);
  }
}

}  // namespace emplace
