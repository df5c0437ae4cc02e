// Schedules of values that change during a run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/ids.h"

namespace emplace {

// Goes in a straight line from `start` to `end` over the first `updates` updates and stays at `end`. `done` is the
// number of updates done. REQUIRES: updates > 0.
inline double LinearSchedule(double start, double end, int64_t updates, PolicyVersion done) {
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(updates));
  return start + (end - start) * share;
}

}  // namespace emplace
