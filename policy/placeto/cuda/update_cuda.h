// The learner's whole optimizer step on a GPU: forward pass, loss, backward pass, clipping and Adam, in one recorded
// sequence. Two updates may be under way at the same time: while the device computes one, the host prepares the next,
// so the device does not wait for the host. Weights and moments stay on the device.
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
  static constexpr int32_t kInFlight = 2;

  // REQUIRES: at least one graph, values [P]; WhyNoGpu() is empty.
  UpdateCuda(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, std::span<const float> values,
             int64_t shared_limit = kAllSharedMemory);
  ~UpdateCuda();

  // Starts an update and returns. REQUIRES: in_flight() < kInFlight, there is at least one state, and every state's
  // action is allowed.
  void Submit(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
              const UpdateScalars& scalars);
  // Waits for the oldest update and writes the weights after it to `values` [P]. REQUIRES: in_flight() > 0.
  UpdateReport Collect(std::span<float> values);
  int32_t in_flight() const;  // Updates that were submitted and not collected.

  // Makes two updates, and returns the time of each kernel of the second, in their order. For measurements: the new
  // weights stay on the device. REQUIRES: as Submit, and in_flight() == 0.
  std::vector<KernelTime> TimeKernels(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                                      const UpdateScalars& scalars);

  // REQUIRES: in_flight() == 0.
  AdamState SaveAdam() const;
  void LoadAdam(const AdamState& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::gpu
