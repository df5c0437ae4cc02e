// Times steps of placed graphs on hardware, beside steps of a reference placement. What does it is another process
// (measuring_process.h), which a step that hangs or runs out of memory does not take us with; tests have one of their
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/ids.h"
#include "simulator/graph/placement.h"

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

// What a tensor took from one device to another: from when its op had ended and the reading device was free, until the
// copy was there.
struct CopyTime {
  OpIndex op = 0;
  int32_t output = 0;  // Index into the op's outputs.
  DeviceIndex to = 0;
  double us = 0;
};

// What the parts of a step took, each the median over the timed steps.
struct PartTimes {
  std::vector<double> op_us;  // [n] NaN: the op was not run.
  std::vector<CopyTime> copies;
};

// The timed steps of one placement.
struct StepSeries {
  std::vector<double> us;                 // [steps] microseconds.
  std::vector<int64_t> preemptions = {};  // [steps] as in StepTimes; empty: nobody has counted them.
  PartTimes parts = {};                   // Empty unless the timer was made to time them.
  // What the step would take if no other program took a core (replayed_step.h), in us; 0: nobody has worked it out.
  double replayed_us = 0;
};

struct StepSamples {
  StepSeries reference;  // Half of the steps before the placement's, half after.
  StepSeries placement;
};

// Not thread-safe.
class StepTimer {
 public:
  virtual ~StepTimer() = default;

  // Makes everything ready to time this placement of graph `graph`, and runs one step of it, and at its first time of
  // the graph's reference. A device without an order runs its ops in that of the simulated step. REQUIRES: the
  // placement is legal (CheckPlacement, CheckOrders).
  virtual void Prepare(size_t graph, const OrderedPlacement& placement) = 0;
  // Times what was prepared last. The computer should have nothing else to do meanwhile.
  virtual StepSamples Time(const StepPlan& plan) = 0;
  // Both throw StepFailed, BadInput for a graph that cannot be run whatever its placement, and MeasurementCancelled
  // (actor/reward_source.h).
};

}  // namespace emplace
