// The learner's whole optimizer step on a GPU: forward, loss, backward, clipping and Adam, in one recorded sequence.
// Two updates may be on their way at the same time: while the device works on one, the host prepares the next, so the
// device never waits for it. Weights and moments stay on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/policy/adam.h"
#include "common/policy/cuda/policy_cuda.h"
#include "common/policy/cuda/workspace.h"

namespace emplace::gpu {

// Not thread-safe. Throws RunFailed when the device fails or has too little memory.
class UpdateCuda {
 public:
  static constexpr int32_t kInFlight = 2;

  // REQUIRES: at least one graph, values [P]; WhyNoGpu() is empty.
  UpdateCuda(const PolicyShape& shape, std::span<const PolicyGraph* const> graphs, std::span<const float> values,
             int64_t shared_limit = kAllSharedMemory);
  ~UpdateCuda();

  // Puts an update on its way and returns. REQUIRES: in_flight() < kInFlight; at least one state, each with an allowed
  // action.
  void Submit(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
              const UpdateScalars& scalars);
  // Waits for the oldest update; writes the weights after it to `values` [P]. REQUIRES: in_flight() > 0.
  UpdateReport Collect(std::span<float> values);
  int32_t in_flight() const;

  // REQUIRES: in_flight() == 0.
  AdamState SaveAdam() const;
  void LoadAdam(const AdamState& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace::gpu
