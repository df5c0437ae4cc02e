// A trajectory that passed all checks, and the makespan of its final placement.
#pragma once

#include "common/trajectory.h"

namespace emplace {

struct Episode {
  Trajectory trajectory;
  double makespan_us = 0;  // Of the final placement, in microseconds.
  double ratio = 0;        // makespan / best single device, lower is better; NaN where no device may run every op
  bool feasible = true;    // The final placement fits in memory.
};

}  // namespace emplace
