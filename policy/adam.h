// Adam (Kingma and Ba, ICLR 2015, algorithm 1) on the flat parameter vector that checkpoints and messages hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

inline constexpr double kAdamBeta1 = 0.9;
inline constexpr double kAdamBeta2 = 0.999;
inline constexpr double kAdamEpsilon = 1e-8;

// The optimizer's state, which a checkpoint holds so that a resumed run goes on exactly as before.
struct AdamState {
  int64_t steps = 0;            // Optimizer steps so far.
  std::vector<float> mean;      // [parameters] first moments
  std::vector<float> variance;  // [parameters] second moments
};
AdamState InitialAdamState(size_t parameters);

// Makes one step with `scale` times the gradient. REQUIRES: gradient, moments and values have the same size.
void AdamStep(std::span<const float> gradient, double scale, double learning_rate, AdamState& state,
              std::span<float> values);

}  // namespace emplace
