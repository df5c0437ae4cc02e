// How the ranks of a learner exchange what they have computed of an update. Each rank has an object of it. All ranks
// call the same functions in the same order, for arrays of the same sizes.
#pragma once

#include <cstdint>
#include <span>

#include "learner/update/shard_sums.h"

namespace emplace {

// Not thread-safe. Functions throw RunFailed, with a message that names the rank, when another rank has ended, does not
// answer, or has sent what makes no sense.
class Collective {
 public:
  virtual ~Collective() = default;

  virtual int64_t rank() const = 0;  // 0, 1, ... below ranks(). Rank 0 leads.
  virtual int64_t ranks() const = 0;
  // Brings the partial sums and the losses of all ranks to rank 0. REQUIRES: AddOwn was called for this rank.
  virtual void GatherShards(ShardSums& sums) = 0;
  // Gives the values of rank 0 to all ranks.
  virtual void Broadcast(std::span<float> values) = 0;
};

// The only rank there is.
class OneRank final : public Collective {
 public:
  int64_t rank() const override { return 0; }
  int64_t ranks() const override { return 1; }
  void GatherShards(ShardSums& /*sums*/) override {}
  void Broadcast(std::span<float> /*values*/) override {}
};

}  // namespace emplace
