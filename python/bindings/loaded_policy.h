// emplace._core.Policy: a trained policy, and what names it in errors.
#pragma once

#include <string>

#include "policy/policy_weights.h"

namespace emplace::python {

struct LoadedPolicy {
  std::string source;  // File or run directory.
  PolicyWeights weights;
};

}  // namespace emplace::python
