// Ranks that each have a GPU of their own exchange gradients by NCCL, over NVLink or the network, as the machine has
// it. Arrays are the host's: each goes through memory of the GPU. Steps still come from rank 0's socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "learner/update/collective.h"

namespace emplace {

// Names the ranks that are to meet. Rank 0 makes one, and the others get it over their sockets.
using NcclId = std::vector<uint8_t>;
NcclId NewNcclId();

class NcclCollective final : public Collective {
 public:
  struct Options {
    int64_t rank = 0;
    int64_t ranks = 2;
    int32_t gpu = 0;     // Index of this rank's device.
    double limit_s = 0;  // How long to wait for other ranks. 0: no limit.
    // Called several times a second while this waits for other ranks; what it throws ends the wait.
    std::function<void()> while_waiting = [] {};
  };

  // The ranks meet in the first exchange. Throws BadInput when `id` is none.
  NcclCollective(Options options, const NcclId& id);
  ~NcclCollective() override;

  int64_t rank() const override;
  int64_t ranks() const override;
  void GatherShards(ShardSums& sums) override;
  void Broadcast(std::span<float> values) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
