// The GPUs of this computer as LibTorch runs ops on them. Hides LibTorch from what uses it.
//
// All that we do on GPUs goes through the interfaces that LibTorch has for every kind of accelerator. So programs are
// compiled and linked without CUDA, and load LibTorch's CUDA half, which takes a second, when a device is called
// cuda:i.
#pragma once

#include <cstdint>

#include "actor/hardware/local_devices.h"

namespace emplace {

// Loads LibTorch's CUDA half at the first call; so call it, by way of FindLocalDevices, before all else that has to do
// with GPUs. From then on float32 is computed as such on GPUs, without TF32, and cuDNN takes deterministic algorithms
// only.
LocalGpus FindLocalGpus();

// Memory that is free on the GPU, in bytes. Where that is less than `wanted`, LibTorch first gives back what it keeps
// of memory that was freed. REQUIRES: FindLocalGpus has found this GPU.
int64_t FreeGpuBytes(int32_t gpu, int64_t wanted);

}  // namespace emplace
