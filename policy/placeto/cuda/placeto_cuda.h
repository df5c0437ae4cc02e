// The policy's forward and backward pass on a GPU, over many states of many graphs at a time. The header needs neither
// CUDA's nor LibTorch's headers. "device" pointers point to memory of the current CUDA device.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "policy/placeto/cuda/compact_batch.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {

// The reason why no GPU can be used, as text for people; empty if one can be used.
std::string WhyNoGpu();

// The default of `shared_limit`, the bytes of shared memory that a block may take: the device's own limit alone counts.
// A smaller limit makes more graphs work in global memory.
inline constexpr int64_t kAllSharedMemory = std::numeric_limits<int64_t>::max();

// Not thread-safe. Calls put work on the stream (a cudaStream_t; null is the default stream) and return; later calls
// throw that work's errors. Throws RunFailed when the device fails or has too little memory.
class PlacetoCuda {
 public:
  // REQUIRES: at least one graph; WhyNoGpu() is empty.
  PlacetoCuda(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs,
              int64_t shared_limit = kAllSharedMemory);
  ~PlacetoCuda();

  // Sets the states of the following passes. Waits for passes on the batch before.
  void SetBatch(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states, void* stream);
  // Computes device logits [S, D] from device values [P] in the order of PlacetoLayers; -infinity where not allowed.
  void Forward(const float* values, float* logits, void* stream);
  // Computes the device gradient of the values [P] from that of the logits [S, D]. Equal input gives equal bits on one
  // GPU. REQUIRES: the last pass was Forward.
  void Backward(const float* d_logits, float* gradient, void* stream);

  // Nodes of the largest graph that fits in shared memory.
  int32_t small_nodes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::gpu
