// The learner's whole optimizer step on a GPU: forward pass, loss, backward pass, clipping and Adam, in one recorded
// sequence. Weights and moments stay on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/adam.h"
#include "policy/placeto/cuda/kernel_work.h"
#include "policy/placeto/cuda/placeto_cuda.h"
#include "policy/placeto/cuda/workspace.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {

struct KernelTime {
  KernelWork work;
  double us;  // By the device's clock, the step to the next kernel included
};

// Not thread-safe. Throws RunFailed when the device fails or has too little memory.
class UpdateCuda {
 public:
  // REQUIRES: at least one graph, values [P]; WhyNoGpu() is empty.
  UpdateCuda(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, std::span<const float> values,
             int64_t shared_limit = kAllSharedMemory);
  ~UpdateCuda();

  // Makes an update, and writes the weights after it to `values` [P]. REQUIRES: there is at least one state, and every
  // state's action is allowed.
  UpdateReport Update(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                      const UpdateScalars& scalars, std::span<float> values);

  // Makes two updates, and returns the time of each kernel of the second, in their order. For measurements: the new
  // weights stay on the device. REQUIRES: as Update.
  std::vector<KernelTime> TimeKernels(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                                      const UpdateScalars& scalars);

  AdamState SaveAdam() const;
  void LoadAdam(const AdamState& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::gpu
