// Runs the steps of a placed graph on the devices of this computer, and times them.
//
// Each device is a thread, which runs ops on its cores or has a GPU run them. Outputs do not depend on the placement:
// on devices of one kind they have the bits that one device computes, unless an operator draws random numbers, or adds
// on a GPU in an order that is left to chance. Hides LibTorch from what uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "actor/hardware/devices/local_devices.h"
#include "actor/hardware/program/step_program.h"
#include "actor/hardware/step_runner.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct ExecutorOptions {
  LinkThrottle throttle = {};  // For devices of the CPU only.
  // Whether StepTimes have ops and copies on GPUs, by the clocks of these; else they are NaN. Each then costs a GPU two
  // events.
  bool gpu_times = true;
};

enum class Processor : uint8_t { kCpu, kGpu };

// FindLocalDevices, by this process's cores and LibTorch's GPUs. Throws BadInput as it does.
std::vector<LocalDevice> FindDevicesHere(const Cluster& cluster);
// The processors that these devices are or have. Throws as FindDevicesHere does.
std::set<Processor> ProcessorsHere(const Cluster& cluster);

// Why the op cannot be run here, as one line; empty: it can. An op that is left out (IsLeftOut) can.
// REQUIRES: FindDevicesHere has found a GPU, for kGpu.
std::string WhyItCannotRun(const Op& op, Processor processor);

// Functions are called from one thread.
class Executor {
 public:
  // placement.orders: a device without one runs its ops in the order of the simulated step. Throws BadInput for a graph
  // that cannot be run (torch_backend.h), devices that are not here (local_devices.h), and a throttle beside GPUs; and
  // where the simulated step holds more memory than this computer has, or a GPU has left.
  // REQUIRES: graph and cluster outlive the executor; the placement is legal (CheckPlacement, CheckOrders).
  Executor(const OpGraph& graph, const Cluster& cluster, const OrderedPlacement& placement,
           const ExecutorOptions& options = {});
  ~Executor();

  // Runs one step. Parameters are as before it again. The reference is valid until the next call. Throws Error for an
  // op that fails, and BadInput for one whose outputs are not those of the graph; no step can be run after that.
  const StepTimes& Step();

  // Runs one step as Step does, slower. Returns the most bytes that each device held at a time [D]: beside the tensors
  // of the graph, what operators need while they run.
  std::vector<int64_t> StepPeakBytes();

  const StepProgram& program() const;
  // The simulated step, with the costs of the graph; ops that are not run cost nothing.
  const Timeline& predicted() const;

  // The elements of a result of the last step (StepProgram::results), or of a given op, in row-major order. Empty for
  // an output that the operator does not make. Throws BadInput for another op.
  std::vector<std::byte> Bytes(OpIndex op, int32_t output) const;
  // Sets the elements of a given op. REQUIRES: as many bytes as its output has.
  void Give(OpIndex op, std::span<const std::byte> elements);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
