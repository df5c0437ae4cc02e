// A policy's graphs, batches and working memory on the current device. Only files of this folder include this header.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "policy/placeto/cuda/compact_batch.h"
#include "policy/placeto/cuda/cuda_support.h"
#include "policy/placeto/cuda/pipeline.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {

// Batches that may be under way at the same time.
inline constexpr int32_t kBatchSlots = 2;

class DeviceProblem {
 public:
  // Throws RunFailed when the device fails or has too little memory. The graphs must be as CompactGraphs requires.
  DeviceProblem(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, int64_t shared_limit);

  // Whether batches of this size fit in the allocated memory.
  bool Holds(const BatchCapacity& needed) const { return capacity_.Holds(needed); }
  // Allocates memory for such batches, and for larger ones. REQUIRES: the device uses none of the memory.
  void Grow(const BatchCapacity& needed);
  // Starts the copy of a batch to the slot's device memory. REQUIRES: it fits, and the slot's last copy has finished.
  void CopyBatch(int32_t slot, std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                 const UpdateScalars& scalars, cudaStream_t stream);

  const CompactGraphs& graphs() const { return graphs_; }
  const PlacetoPlan& plan() const { return common_.plan; }
  const LaunchSizes& sizes() const { return common_.sizes; }
  Problem problem(int32_t slot) const;

 private:
  struct Slot {
    PinnedMemory host;
    DeviceMemory device;
    BatchView view{};  // Points into `device`
  };

  CompactGraphs graphs_;
  Problem common_;
  BatchCapacity capacity_;
  DeviceMemory graph_memory_;
  DeviceMemory work_memory_;
  std::array<Slot, kBatchSlots> slots_;
};

}  // namespace emplace::gpu
