// Runs the ops of a step by LibTorch, on devices of the CPU inside of the calls, and on GPUs on streams.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "actor/hardware/devices/device_memory.h"
#include "actor/hardware/devices/gpu_streams.h"
#include "actor/hardware/devices/local_devices.h"
#include "actor/hardware/devices/stream_order.h"
#include "actor/hardware/program/boxed_call.h"
#include "actor/hardware/program/step_program.h"
#include "actor/hardware/step_runner.h"

namespace emplace {

class TorchBackend : public StepBackend {
 public:
  // Prepares all calls, and makes what is given (given_tensors.h). Throws BadInput, which names the op, for a call that
  // cannot be run (boxed_call.h), and for one that changes anything in place but a parameter, input or constant on its
  // own device. gpu_times: whether ops and copies on GPUs have times, for which a GPU has to put two events around
  // each. REQUIRES: graph and program outlive the backend.
  TorchBackend(const OpGraph& graph, const StepProgram& program, std::vector<LocalDevice> devices, bool gpu_times);

  void PrepareThread(DeviceIndex device) override;
  void BeginStep(DeviceIndex device) override;
  void Run(DeviceIndex device, const StepInstruction& instruction) override;
  void Post(DeviceIndex device, int32_t value) override;
  void Copy(DeviceIndex device, int32_t value) override;
  void Await(DeviceIndex device, int32_t value) override;
  void Free(int32_t value) override;
  void Finish(DeviceIndex device) override;
  void AddTimes(std::chrono::steady_clock::time_point start, StepTimes& times) override;

  // Gives up the results of the step before, and restores what it changed in place. Call it while no step runs.
  void PrepareStep();
  // Whether the steps to come count what each device allocates; those before the first call do not. What is given
  // counts from the start. Call it while no step runs.
  void CountMemory(bool count);
  // [D] DeviceMemory::PeakBytes of the steps that were counted since the last CountMemory(true).
  std::vector<int64_t> PeakBytes() const { return memory_.PeakBytes(); }
  // The tensor of a given op or a result; undefined for an output that is not there. Call it while no step runs.
  const at::Tensor& TensorOf(OpIndex op, int32_t output) const;
  // Replaces the tensor of a given op by one of the same type and shape.
  void Give(OpIndex op, const at::Tensor& tensor);

 private:
  // What a step with GPUs has besides.
  struct Gpus {
    Gpus(const TorchBackend& backend, const std::vector<char>& has_streams, bool timed);

    GpuStreams streams;
    StreamOrder order;
  };

  void Prepare(const StepInstruction& instruction, DeviceIndex device, const std::vector<int64_t>& bounds);
  void PrepareChanges(const StepInstruction& instruction, DeviceIndex device);
  void RunCall(const StepInstruction& instruction);
  void CheckOutputs(const Op& op, const std::vector<at::Tensor>& outputs) const;
  void CopyByStream(int32_t value);
  void GiveUpResults();
  at::Tensor& At(int32_t value) { return tensors_[static_cast<size_t>(value)]; }
  const StepValue& About(int32_t value) const { return program_.values[static_cast<size_t>(value)]; }
  bool IsGpu(DeviceIndex device) const { return devices_[static_cast<size_t>(device)].is_gpu(); }

  const OpGraph& graph_;
  const StepProgram& program_;
  const std::vector<LocalDevice> devices_;
  DeviceMemory memory_;
  bool counts_memory_ = false;
  std::vector<std::unique_ptr<const BoxedCall>> calls_;  // [n] nullptr for what is not run.
  std::vector<char> checked_;                            // [n] whether the op's outputs had the graph's shapes once.
  // [values] each written by its device's thread, or the sender's if that has streams; freed by any.
  std::vector<at::Tensor> tensors_;
  std::map<OpIndex, int32_t> given_;        // Values of what is given.
  std::map<int32_t, at::Tensor> restored_;  // Values that a step changes, with what they were before.
  std::unique_ptr<Gpus> gpus_;              // nullptr: all devices are the CPU's.
};

}  // namespace emplace
