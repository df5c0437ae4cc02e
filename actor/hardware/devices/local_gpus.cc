#include "actor/hardware/devices/local_gpus.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <string>

#include "policy/torch/cuda_half.h"

namespace emplace {

LocalGpus FindLocalGpus() {
  const std::string why_none = LoadCudaHalf();
  if (!why_none.empty()) return {.count = 0, .why_none = why_none};
  return {.count = CountGpus()};
}

int64_t FreeGpuBytes(int32_t gpu, int64_t wanted) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(c10::DeviceType::CUDA);
  const auto free_bytes = [&] {
    return static_cast<int64_t>(allocator.getMemoryInfo(static_cast<c10::DeviceIndex>(gpu)).first);
  };
  if (free_bytes() < wanted) allocator.emptyCache();
  return free_bytes();
}

}  // namespace emplace
