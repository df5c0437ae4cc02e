// NCCL between ranks, where the build has CUDA and the run has a GPU for each rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "learner/update/collective.h"
#include "policy/config/run_config.h"

namespace emplace {

struct NcclRank {
  int64_t rank = 0;
  const RunConfig& config;
  int32_t gpu = 0;              // Index of the rank's device.
  std::function<void()> check;  // Throws when another rank is gone; called several times a second.
};

// A new id for the ranks to meet by; empty: they do not use NCCL, because training.device is not cuda, or because this
// build is without CUDA.
std::vector<uint8_t> NcclIdFor(const TrainingConfig& config);
// nullptr where the id is empty. Throws BadInput for an id that this build cannot use.
std::unique_ptr<Collective> MakeNccl(const NcclRank& rank, const std::vector<uint8_t>& id);

}  // namespace emplace
