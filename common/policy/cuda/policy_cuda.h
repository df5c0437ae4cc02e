// The policy's forward and backward pass on a GPU, over many states of many graphs at a time. Neither CUDA's nor
// LibTorch's headers are needed to use it; pointers called "device" are to memory of the current CUDA device.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "common/policy/cuda/compact_batch.h"
#include "common/policy/policy_graph.h"
#include "common/policy/policy_shape.h"

namespace emplace::gpu {

// Empty where there is a GPU to use, else why there is none, for people.
std::string WhyNoGpu();

// Of shared memory that a block may take, besides the device's own limit. Less makes more graphs work in global memory.
inline constexpr int64_t kAllSharedMemory = std::numeric_limits<int64_t>::max();

// Not thread-safe. Calls only put work on the stream (a cudaStream_t; null is the default stream) and return; errors of
// that work show in later calls. Throws RunFailed when the device fails or has too little memory.
class PolicyCuda {
 public:
  // REQUIRES: at least one graph; WhyNoGpu() is empty.
  PolicyCuda(const PolicyShape& shape, std::span<const PolicyGraph* const> graphs,
             int64_t shared_limit = kAllSharedMemory);
  ~PolicyCuda();

  // The states of the following passes. Waits for passes on the last batch.
  void SetBatch(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states, void* stream);
  // device values [P], in the order of PolicyLayers -> device logits [S, D], -infinity where not allowed.
  void Forward(const float* values, float* logits, void* stream);
  // device gradient of the logits [S, D] -> device gradient of the values [P]. Equal input gives equal bits on one GPU.
  // REQUIRES: the last pass was Forward.
  void Backward(const float* d_logits, float* gradient, void* stream);

  // The most nodes of a graph whose states work in shared memory.
  int32_t small_nodes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::gpu
