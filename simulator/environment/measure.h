// What a step of a placed task takes, by whoever finds it out: the simulator (simulated_measure.h), or hardware that
// runs the step. Rewards are made of nothing else (Rho in placement_env.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/ids.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct Measurement {
  double makespan_us = 0;
  std::span<const int64_t> peak_bytes;  // [D] valid until the next Run; or all 0 where any peak would fit the memory
  bool feasible = true;                 // Whether every device's memory suffices.
};

// Of one task. Not thread-safe.
class Measure {
 public:
  virtual ~Measure() = default;
  // Runs a step of the task. groups: [n] device of each group; ops: [num_ops] the placement that follows from it
  // (PlacementTask::Expand). REQUIRES: every device is allowed.
  virtual Measurement Run(std::span<const uint8_t> groups, std::span<const DeviceIndex> ops) = 0;
  // Whether whoever runs the same placement again gets the same numbers. Rewards of a run in lockstep have to be so,
  // and the learner checks them by running it again.
  virtual bool Reproducible() const = 0;
};

// Makes a Measure of a task, which outlives it.
using MeasureFactory = std::function<std::unique_ptr<Measure>(const PlacementTask&)>;

}  // namespace emplace
