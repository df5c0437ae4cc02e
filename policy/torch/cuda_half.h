// LibTorch's CUDA half, which programs load when they run: all that we do on GPUs goes through the interfaces that
// LibTorch has for every kind of accelerator, so nothing is compiled or linked with CUDA.
#pragma once

#include <cstdint>
#include <string>

namespace emplace {

// Loads the CUDA half at the first call, which takes a second. So call it before the first backward pass, and before
// all else that has to do with GPUs. From then on float32 is computed as such on GPUs, without TF32, and cuDNN takes
// deterministic algorithms only. Returns why it cannot be loaded; empty: it is there. Thread-safe.
std::string LoadCudaHalf();

// The number of GPUs that the CUDA half finds on this computer. REQUIRES: LoadCudaHalf has returned "".
int32_t CountGpus();

}  // namespace emplace
