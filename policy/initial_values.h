// How the parameters of a new network start. No LibTorch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "policy/policy_kind.h"

namespace emplace {

// The values of all parameters, in their order: a matrix (its name ends with ".weight") Glorot-uniform (Glorot and
// Bengio 2010, equation 16) times scale_of(its name), a ".scale" 1, and everything else 0.
std::vector<float> GlorotValues(const std::vector<ParameterSpec>& specs,
                                const std::function<double(const std::string&)>& scale_of, Rng& rng);
// The same with output_scale for the last layer, "output.weight", and 1 for all others.
std::vector<float> GlorotValues(const std::vector<ParameterSpec>& specs, double output_scale, Rng& rng);

}  // namespace emplace
