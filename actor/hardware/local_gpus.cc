#include "actor/hardware/local_gpus.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <string>

#include "common/error.h"

namespace emplace {
namespace {

// Returns why it cannot be loaded; empty: it is there.
std::string LoadCudaHalf() {
  if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    // It registers itself with the other half. Found where the linker has found that one, by the program's rpath.
    if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return std::string("LibTorch comes without its CUDA half (") + ::dlerror() + ")";
    }
  }
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  return "";
}

}  // namespace

LocalGpus FindLocalGpus() {
  static const std::string why_none = LoadCudaHalf();
  if (!why_none.empty()) return {.count = 0, .why_none = why_none};
  const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
  return {.count = cuda.deviceCount()};
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
