// A trajectory that passed all checks, and what its end is worth.
#pragma once

#include "common/trajectory.h"

namespace emplace {

struct Episode {
  Trajectory trajectory;
  double makespan_us = 0;  // Of its final placement.
  double ratio = 0;        // makespan / best single device, lower is better; NaN where no device may run every op
  bool feasible = true;
};

}  // namespace emplace
