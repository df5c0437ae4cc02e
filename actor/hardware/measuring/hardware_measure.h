// Measures placements on hardware. What a measurement says is how much faster or slower a step is than one of the
// reference placement, all ops on the best single device, both timed in the same window: so whatever makes the whole
// computer slower for a while, such as heat or another user, cancels. The number that rewards are made of is
//
//   makespan_us = (time of the placement's step / time of the reference's step) x simulated makespan of the reference
//
// and is thus in microseconds of the simulated machine, like simulated rewards, to which it is compared and with which
// it is mixed. The memory that a placement needs is the simulated one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actor/hardware/step_timer.h"
#include "common/error.h"
#include "common/threads/machine_lock.h"
#include "policy/config/run_config.h"
#include "simulator/environment/measure.h"
#include "simulator/environment/simulated_measure.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The ratio of the placement's time to the reference's, by what config.outliers says stands for several steps.
// REQUIRES: there is a sample of each.
double RatioOf(const StepSamples& samples, StepCenter center);

// What is thrown for a graph that has no reference. place: names it.
Error NoReference(const std::string& place);

// Opens windows, and times placements in them. All measures of a session share one. Not thread-safe.
class HardwareMeter {
 public:
  // REQUIRES: timer and lock outlive the meter. is_over: whether to give up what is waited for.
  HardwareMeter(const HardwareConfig& config, StepTimer& timer, MachineLock& lock, std::function<bool()> is_over);

  // Times steps of the placement and of the reference in a window, for which it waits. Throws as StepTimer does.
  StepSamples Samples(size_t graph, const OrderedPlacement& placement);
  // Returns the ratio above; infinity where the placement fails or hangs. Throws BadInput and MeasurementCancelled as
  // StepTimer does.
  double Ratio(size_t graph, std::span<const DeviceIndex> ops);

  std::chrono::microseconds window_time() const { return window_time_; }  // For which its windows were open.

 private:
  using Clock = std::chrono::steady_clock;

  void Prepare(size_t graph, const OrderedPlacement& placement);
  void AwaitTurn() const;
  void CloseWindow(Clock::time_point opened);

  const HardwareConfig config_;
  StepTimer& timer_;
  MachineLock& lock_;
  const std::function<bool()> is_over_;
  Clock::time_point next_window_;  // Before it, others have the computer.
  std::chrono::microseconds window_time_{0};
};

class HardwareMeasure : public Measure {
 public:
  // graph: the task's id in the session. REQUIRES: task and meter outlive it; a single device can run every op.
  HardwareMeasure(const PlacementTask& task, size_t graph, const HardwareConfig& config, HardwareMeter& meter);
  Measurement Run(std::span<const uint8_t> groups, std::span<const DeviceIndex> ops) override;
  bool Reproducible() const override { return false; }

 private:
  const PlacementTask& task_;
  const size_t graph_;
  const HardwareConfig config_;
  HardwareMeter& meter_;
  SimulatedMeasure simulated_;
};

}  // namespace emplace
