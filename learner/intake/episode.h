// A trajectory that passed all checks, and what its final placement is worth.
#pragma once

#include <cstdint>
#include <limits>

#include "common/trajectory.h"

namespace emplace {

// How an episode's rewards were confirmed.
enum class Proof : uint8_t {
  kSimulated,      // The learner has simulated them.
  kMeasuredAgain,  // Another hardware actor has measured one of them again.
  kUnverified,     // They are measured, and nobody has measured them again.
};

struct Episode {
  Trajectory trajectory;
  Proof proof = Proof::kSimulated;
  double ratio = 0;      // makespan / best single device, lower is better; NaN where no device may run every op
  bool feasible = true;  // The final placement fits in memory, and did not fail when it was measured.
  // The same ratio, measured; NaN: the rewards are simulated, or the final placement is not feasible.
  double measured_ratio = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace emplace
