#include "policy/torch/cuda_half.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

namespace emplace {
namespace {

std::string Load() {
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

std::string LoadCudaHalf() {
  static const std::string why_not = Load();
  return why_not;
}

int32_t CountGpus() { return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount(); }

}  // namespace emplace
