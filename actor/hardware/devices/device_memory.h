// How much memory LibTorch holds for each device of a step, to compare with the simulated peaks.
//
// What a thread that works for a device of the CPU allocates counts for that device until it is freed, by any thread: a
// program that links this file has an allocator of its own below LibTorch, from before main on. For GPUs it is what
// LibTorch's own allocator counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actor/hardware/devices/local_devices.h"
#include "common/ids.h"

namespace emplace {

struct HeldMemory;  // What is counted for one device.

// Functions are called by any thread, unless they say otherwise.
class DeviceMemory {
 public:
  explicit DeviceMemory(const std::vector<LocalDevice>& devices);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // From now on what the calling thread allocates counts for the device; nullopt: for none.
  void CountThreadFor(std::optional<DeviceIndex> device);
  // Forgets the peaks so far. Call it while no step runs.
  void ResetPeaks();
  // [D] the most bytes that each device has held at a time since then. Call it while no step runs.
  std::vector<int64_t> PeakBytes() const;

 private:
  const std::vector<LocalDevice> devices_;
  std::vector<std::shared_ptr<HeldMemory>> held_;  // [D]
};

}  // namespace emplace
