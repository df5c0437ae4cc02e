// Which cores or which GPU of this computer each device of a cluster file is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/machine/cluster.h"

namespace emplace {

// A thread that runs ops on its cores, or has a GPU run them.
struct LocalDevice {
  static constexpr int32_t kNoGpu = -1;

  std::vector<int32_t> cores = {};  // Of the thread. Empty: wherever the operating system runs it.
  int32_t gpu = kNoGpu;             // The i of cuda:i; kNoGpu: a device of the CPU.

  bool is_gpu() const { return gpu != kNoGpu; }
};

// The GPUs that ops can be run on here.
struct LocalGpus {
  int32_t count = 0;
  std::string why_none = {};  // Why this build or installation can use no GPU, whatever the computer has; else empty.
};

// The processor cores that this process may run on, ascending.
std::vector<int32_t> AvailableCores();

// The devices of the cluster, in its order. A device of the CPU computes with as many threads as it has cores.
// cores: those that the process may run on. find_gpus: called once, where the cluster has a device cuda:i.
// Throws BadInput, which names the device, for a name other than cpu:i and cuda:i, a GPU or core that is not there, a
// core that two devices have, and devices of the CPU with different numbers of cores.
std::vector<LocalDevice> FindLocalDevices(const Cluster& cluster, const std::vector<int32_t>& cores,
                                          const std::function<LocalGpus()>& find_gpus);

// Binds the calling thread to these cores. Throws Error when the operating system refuses.
void BindThreadToCores(const std::vector<int32_t>& cores);

}  // namespace emplace
