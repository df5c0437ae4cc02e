// Runs the steps of a StepProgram on one thread for each device. What an op does is the backend's: this class decides
// only when. It knows no LibTorch.
//
// A device runs its instructions in turn. When an op ends, its device posts the values that other devices read into
// their inboxes. A device copies what is in its inbox when it waits, or when its next op needs it: memory of the CPU
// is copied by the core that reads it.
//
// A GPU works beside its thread. There, an op has ended for the runner when the GPU was told to run it: values are
// posted early, and the backend has each reader wait for them (stream_order.h). The runner's order is then the order in
// which work is given, and what it frees may still be read by work that was given before.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "actor/hardware/program/step_program.h"
#include "common/threads/mutex.h"

namespace emplace {

// When what happened in a step, in microseconds since its start. NaN: it did not happen.
struct StepTimes {
  double step_us = 0;                 // Until the last device was done.
  int64_t preemptions = 0;            // How often another program took the core of a device that had work to do.
  std::vector<double> op_begin_us;    // [n]
  std::vector<double> op_end_us;      // [n]
  std::vector<double> copy_begin_us;  // [values]
  std::vector<double> copy_end_us;    // [values]
};

// What the devices of a step do. Each function that takes a device is called by that device's thread. What has a body
// may stay as it is where devices do all their work inside of the calls.
class StepBackend {
 public:
  virtual ~StepBackend() = default;

  // Prepares the thread of a device before its first step.
  virtual void PrepareThread(DeviceIndex device) = 0;
  // Called before each step, whose time has not begun.
  virtual void BeginStep(DeviceIndex) {}
  // Computes the instruction's outputs. Not called for what is given.
  virtual void Run(DeviceIndex device, const StepInstruction& instruction) = 0;
  // Called by the thread of the device that ran `value`'s op, which it has just done, and before the device that
  // `value` is on hears of it: a device that works beside its thread begins to send the tensor.
  virtual void Post(DeviceIndex, int32_t) {}
  // Makes the copy `value` of program.values[value].source, unless Post has begun to.
  virtual void Copy(DeviceIndex device, int32_t value) = 0;
  // Called before the device's first instruction that needs `value`, a copy or a signal: what the device is told to do
  // from here on finds it there. After Post, and Copy for a copy.
  virtual void Await(DeviceIndex, int32_t) {}
  // Gives up a value's tensor, whose last reader has ended. Called by any device's thread, once in a step.
  virtual void Free(int32_t value) = 0;
  // Waits until the device has done everything that it was told to do.
  virtual void Finish(DeviceIndex device) = 0;
  // Called by the thread that runs the step, after all devices have finished. Writes the times of what devices did
  // beside their threads over those at which they were told to. start: when the step began.
  virtual void AddTimes(std::chrono::steady_clock::time_point, StepTimes&) {}
};

// An artificial link in place of the memory's own speed: each device sends one tensor at a time.
struct LinkThrottle {
  double bandwidth_bytes_per_us = 0;  // 0: no limit.
  double latency_us = 0;              // From the end of the sending until the tensor is there.
};

class StepRunner {
 public:
  // bytes: of each of the program's values, for the throttle. REQUIRES: program and backend outlive the runner.
  StepRunner(const StepProgram& program, int32_t num_ops, std::vector<int64_t> bytes, StepBackend& backend,
             const LinkThrottle& throttle = {});
  ~StepRunner();
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // Runs one step, and returns when all devices are done. The reference is valid until the next call. Throws what a
  // device threw; no step can be run after that. Call it from one thread.
  const StepTimes& Run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Delivery {
    int32_t value;
    Clock::time_point due;  // When the throttled link has delivered the value.
  };
  // What was posted for a device and not yet taken.
  struct Inbox {
    Mutex mu;
    CondVar changed;
    std::vector<Delivery> deliveries EMPLACE_GUARDED_BY(mu);
    std::atomic<bool> filled = false;  // Whether deliveries has any: read without the mutex by a thread that waits.
  };
  struct DeviceState;

  void WorkOn(DeviceIndex device);
  void RunDevice(DeviceState& state);
  void Await(DeviceState& state, int32_t value);
  void Take(DeviceState& state, bool wait, Clock::time_point until);
  void Arrive(DeviceState& state, int32_t value);
  void Send(DeviceState& state, const StepInstruction& instruction);
  void Release(int32_t value);
  void MeetAtStart(int64_t step);
  void Fail(std::exception_ptr error);
  double MicrosSinceStart() const;

  const StepProgram& program_;
  const std::vector<int64_t> bytes_;
  StepBackend& backend_;
  const LinkThrottle throttle_;
  std::vector<std::atomic<int32_t>> readers_left_;  // [values]
  std::vector<std::unique_ptr<Inbox>> inboxes_;     // [D]
  std::atomic<bool> stop_ = false;                  // A device has failed, or the runner ends.
  std::atomic<int64_t> at_start_ = 0;               // Number of threads that have met, over all steps.
  std::atomic<int64_t> begun_ = 0;                  // The step whose start time is set.
  Clock::time_point start_;                         // Written before begun_, by the thread that meets the others last.
  StepTimes times_;                                 // Each device writes the entries of its own ops and copies.

  Mutex mu_;
  CondVar changed_;
  int64_t step_ EMPLACE_GUARDED_BY(mu_) = 0;     // Number of the step that runs, counted from 1.
  int32_t running_ EMPLACE_GUARDED_BY(mu_) = 0;  // Number of devices that are not done with it.
  bool ended_ EMPLACE_GUARDED_BY(mu_) = false;
  std::exception_ptr error_ EMPLACE_GUARDED_BY(mu_);
  double last_end_us_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t preemptions_ EMPLACE_GUARDED_BY(mu_) = 0;  // Of the step that runs.
  std::vector<std::thread> threads_;
};

}  // namespace emplace
