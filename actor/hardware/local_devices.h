// Which part of this computer each device of a cluster file is: cpu:i is a thread on cores, cuda:i a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/machine/cluster.h"

namespace emplace {

struct LocalDevice {
  enum class Kind : uint8_t { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int32_t index = 0;                // Of the GPU, as CUDA counts them; of a CPU device, the number in its name.
  std::vector<int32_t> cores = {};  // Of a CPU device; empty: wherever the operating system runs its thread.
};

// The processor cores that this process may run on, ascending.
std::vector<int32_t> AvailableCores();

// The devices of the cluster, in its order. A CPU device computes with as many threads as it has cores.
// gpus: number of GPUs that LibTorch finds here. cores: those that the process may run on.
// Throws BadInput, which names the device, for a name other than cpu:i and cuda:i, a GPU that is not there, cores of a
// GPU, a core that is not there or that two devices have, and CPU devices with different numbers of cores.
std::vector<LocalDevice> FindLocalDevices(const Cluster& cluster, int32_t gpus, const std::vector<int32_t>& cores);

// Binds the calling thread to these cores. Throws Error when the operating system refuses.
void BindThreadToCores(const std::vector<int32_t>& cores);

}  // namespace emplace
