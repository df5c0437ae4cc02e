// Clipping and Adam, for every policy and objective.
#pragma once

#include <span>

#include "policy/adam.h"

namespace emplace {

// The Euclidean norm, computed in double precision in the order of the entries.
double Norm(std::span<const float> gradient);

// Scales the gradient down to a norm of at most `clip` and makes one step of Adam on `values`. `norm` is the
// gradient's; where it is not finite, the step is left out.
void ClippedAdamStep(std::span<const float> gradient, double norm, double clip, double learning_rate, AdamState& state,
                     std::span<float> values);

}  // namespace emplace
