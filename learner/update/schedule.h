// Values that change over a run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/ids.h"

namespace emplace {

// From `start` to `end` in a straight line over `updates` updates, then `end`. REQUIRES: updates > 0.
inline double LinearSchedule(double start, double end, int64_t updates, PolicyVersion done) {
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(updates));
  return start + (end - start) * share;
}

}  // namespace emplace
