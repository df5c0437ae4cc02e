// Times steps of placed graphs on hardware, beside steps of a reference placement. What does it is another process
// (measuring_process.h), which a step that hangs or runs out of memory does not take us with; tests have one of their
// own.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/ids.h"

namespace emplace {

// A step that failed, hung, or ended its process. No step can be timed until the next Prepare.
class StepFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct StepPlan {
  int64_t warmup = 1;   // Steps that are not timed, whenever the other placement takes its turn.
  int64_t steps = 2;    // Timed steps of each placement; at least 2.
  double window_s = 1;  // Seconds after which no further step begins, but for one of each placement.
};

// What timed steps took, in microseconds.
struct StepSamples {
  std::vector<double> reference_us;  // Half of them before the placement's, half after.
  std::vector<double> placement_us;
};

// Not thread-safe.
class StepTimer {
 public:
  virtual ~StepTimer() = default;

  // Makes everything ready to time this placement of graph `graph`, and runs one step of it, and at its first time of
  // the graph's reference. REQUIRES: ops [num_ops] is a legal placement.
  virtual void Prepare(size_t graph, std::span<const DeviceIndex> ops) = 0;
  // Times what was prepared last. The computer should have nothing else to do meanwhile.
  virtual StepSamples Time(const StepPlan& plan) = 0;
  // Both throw StepFailed, BadInput for a graph that cannot be run whatever its placement, and MeasurementCancelled
  // (actor/reward_source.h).
};

}  // namespace emplace
