// A policy's graphs, batch and working memory on the current device. Only files of this folder include this header.
#pragma once

#include <cstdint>
#include <span>

#include "policy/placeto/cuda/compact_batch.h"
#include "policy/placeto/cuda/cuda_support.h"
#include "policy/placeto/cuda/pipeline.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {

class DeviceProblem {
 public:
  // Throws RunFailed when the device fails or has too little memory. The graphs must be as CompactGraphs requires.
  DeviceProblem(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, int64_t shared_limit);

  // Whether batches of this size fit in the allocated memory.
  bool Holds(const BatchCapacity& needed) const { return capacity_.Holds(needed); }
  // Allocates memory for such batches, and for larger ones. REQUIRES: the device uses none of the memory.
  void Grow(const BatchCapacity& needed);
  // Starts the copy of a batch to the device's memory. REQUIRES: it fits, and the last copy has finished.
  void CopyBatch(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                 const UpdateScalars& scalars, cudaStream_t stream);

  const CompactGraphs& graphs() const { return graphs_; }
  const PlacetoPlan& plan() const { return problem_.plan; }
  const LaunchSizes& sizes() const { return problem_.sizes; }
  const Problem& problem() const { return problem_; }

 private:
  CompactGraphs graphs_;
  Problem problem_;  // Points into the device's memory
  BatchCapacity capacity_;
  DeviceMemory graph_memory_;
  PinnedMemory host_batch_;
  DeviceMemory batch_memory_;
  DeviceMemory work_memory_;
};

}  // namespace emplace::gpu
