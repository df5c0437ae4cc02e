#include "learner/update/optimizer.h"

#include <algorithm>
#include <cmath>

namespace emplace {

double Norm(std::span<const float> gradient) {
  double squares = 0;
  for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
  return std::sqrt(squares);
}

void ClippedAdamStep(std::span<const float> gradient, double norm, double clip, double learning_rate, AdamState& state,
                     std::span<float> values) {
  if (!std::isfinite(norm)) return;
  AdamStep(gradient, std::min(1.0, clip / std::max(norm, 1e-12)), learning_rate, state, values);
}

}  // namespace emplace
