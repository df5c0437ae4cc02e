// Noise on the logits that an actor draws from, as exploration beside the entropy bonus. The published code of the
// hierarchical placer (Mirhoseini et al. 2018) has it with a deviation of 0.5 over 750 updates. What an episode records
// as its probabilities are those with the noise, so importance weights correct for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/ids.h"

namespace emplace {

struct LogitsNoise {
  double deviation = 0;       // Standard deviation for version 0 of the policy.
  int64_t decay_updates = 1;  // Versions over which it falls to 0, linearly.

  double DeviationAt(PolicyVersion version) const {
    return deviation * std::max(0.0, 1 - static_cast<double>(version) / static_cast<double>(decay_updates));
  }
};

}  // namespace emplace
