// Which cores of this computer each device of a cluster file is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/machine/cluster.h"

namespace emplace {

// A device of the CPU: one thread, which runs its ops on these cores.
struct LocalDevice {
  std::vector<int32_t> cores = {};  // Empty: wherever the operating system runs the thread.
};

// The processor cores that this process may run on, ascending.
std::vector<int32_t> AvailableCores();

// The devices of the cluster, in its order. A device computes with as many threads as it has cores.
// cores: those that the process may run on.
// Throws BadInput, which names the device, for a name other than cpu:i (GPUs, cuda:i, cannot be run yet), a core that
// is not there or that two devices have, and devices with different numbers of cores.
std::vector<LocalDevice> FindLocalDevices(const Cluster& cluster, const std::vector<int32_t>& cores);

// Binds the calling thread to these cores. Throws Error when the operating system refuses.
void BindThreadToCores(const std::vector<int32_t>& cores);

}  // namespace emplace
