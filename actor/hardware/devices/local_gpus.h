// The GPUs of this computer as LibTorch runs ops on them. Hides LibTorch from what uses it. Its CUDA half
// (policy/torch/cuda_half.h) is loaded when a device is called cuda:i.
#pragma once

#include <cstdint>

#include "actor/hardware/devices/local_devices.h"

namespace emplace {

// Loads LibTorch's CUDA half at the first call, with what LoadCudaHalf sets; so call it, by way of FindLocalDevices,
// before all else that has to do with GPUs.
LocalGpus FindLocalGpus();

// Memory that is free on the GPU, in bytes. Where that is less than `wanted`, LibTorch first gives back what it keeps
// of memory that was freed. REQUIRES: FindLocalGpus has found this GPU.
int64_t FreeGpuBytes(int32_t gpu, int64_t wanted);

}  // namespace emplace
