// The gradients of an update's shards, and their sum in a fixed order, of which each rank computes a part.
//
// Shards are added pairwise: ((0 + 1) + (2 + 3)) + .... A rank has consecutive shards. It adds those that the order
// adds among themselves, so that it has few partial sums to hand on: one, where the shards are `ranks` times a power of
// two. The bits of the sum depend on the number of shards alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "learner/update/objective/decision_loss.h"

namespace emplace {

// Consecutive shards: first, ..., last - 1.
struct ShardRange {
  int64_t first = 0;
  int64_t last = 0;
};

// P: the number of the policy's parameters. Not thread-safe.
class ShardSums {
 public:
  // REQUIRES: 0 < ranks <= shards.
  ShardSums(int64_t shards, int64_t ranks, size_t parameters);

  int64_t shards() const { return shards_; }
  int64_t ranks() const { return ranks_; }
  // The shards that the rank computes.
  ShardRange RangeOf(int64_t rank) const;
  // The shards whose rows hold the rank's partial sums after AddOwn; the other rows of the rank are of no use then.
  std::vector<int64_t> PartialSumsOf(int64_t rank) const;

  // [P] the shard's gradient, and later a partial sum that begins with this shard. Memory is taken at the first call.
  std::span<float> row(int64_t shard);
  LossSums& loss(int64_t shard) { return losses_[static_cast<size_t>(shard)]; }

  // Adds what the order adds among this rank's own shards. REQUIRES: their rows are filled in.
  void AddOwn(int64_t rank);
  // Adds the rest. REQUIRES: the partial sums of all ranks are here. After that total() is the gradient's sum.
  void AddAll();
  std::span<float> total() { return row(0); }
  // The sum over all shards, in their order.
  LossSums TotalLoss() const;

 private:
  // Calls add(i, j) for each addition of row j to row i that `wanted` takes, in an order in which what it needs is
  // done. wanted(first, last): the addition makes the sum of these shards.
  template <typename Wanted>
  void AddWhere(Wanted wanted);
  // Whether one rank has all of these shards.
  bool OfOneRank(int64_t first, int64_t last) const;

  const int64_t shards_;
  const int64_t ranks_;
  const size_t parameters_;
  std::vector<std::vector<float>> rows_;  // [shards], each [P], or empty where it has not been used yet.
  std::vector<LossSums> losses_;          // [shards]
};

}  // namespace emplace
