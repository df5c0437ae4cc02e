// Models on a GPU: which one, how it computes, and what its failures are called.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "policy/model.h"

namespace emplace {

// Why no model can compute on a GPU of this computer; empty: one can. Where there is an NVIDIA driver, the first call
// loads LibTorch's CUDA half (cuda_half.h). Thread-safe.
std::string WhyNoGpuForModels();

// A model that `make` returns for the device "cuda:gpu". From now on this process takes algorithms that give equal bits
// for equal input on one kind of GPU. Throws RunFailed where there is no such GPU, and as MakeWatchedModel.
// REQUIRES: WhyNoGpuForModels() is empty.
std::unique_ptr<Model> MakeModelOnGpu(int32_t gpu, const std::function<std::unique_ptr<Model>(c10::Device)>& make);

// What `make` returns for the device. Where LibTorch fails, now or later in the model, RunFailed of one line is thrown,
// which says whether it was for lack of memory on the device.
std::unique_ptr<Model> MakeWatchedModel(c10::Device device,
                                        const std::function<std::unique_ptr<Model>(c10::Device)>& make);

}  // namespace emplace
