// How the parameters of a new network start. No LibTorch.
#pragma once

#include <string>
#include <vector>

#include "common/rng.h"
#include "policy/policy_kind.h"

namespace emplace {

// Appends a parameter's values: a matrix (its name ends with ".weight") Glorot-uniform (Glorot and Bengio 2010,
// equation 16) times `scale`, a ".scale" 1, and everything else 0.
void AppendInitialValues(const ParameterSpec& spec, double scale, Rng& rng, std::vector<float>& values);

}  // namespace emplace
