#include "learner/update/shard_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

// The sum of the shards from `first` on, `width` of them at most, by its definition.
float PairwiseSum(const std::vector<float>& shards, size_t first, size_t width) {
  if (width == 1) return shards[first];
  const float sum = PairwiseSum(shards, first, width / 2);
  const size_t middle = first + width / 2;
  return middle < shards.size() ? sum + PairwiseSum(shards, middle, width / 2) : sum;
}

size_t NextPowerOfTwo(size_t value) {
  size_t power = 1;
  while (power < value) power *= 2;
  return power;
}

TEST(ShardSums, AnyRanksGiveTheBitsOfTheDefinition) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const int64_t shards = rng.UniformInt(1, 40);
    const int64_t ranks = rng.UniformInt(1, shards);
    std::vector<float> gradients;
    LossSums losses;
    ShardSums gathered(shards, ranks, 1);
    for (int64_t shard = 0; shard < shards; ++shard) {
      gradients.push_back(static_cast<float>(rng.Normal()));
      const LossSums loss{rng.Normal(), rng.Normal(), rng.Normal()};
      losses += loss;
      gathered.loss(shard) = loss;
    }
    for (int64_t rank = 0; rank < ranks; ++rank) {
      // A rank knows nothing of the shards of others.
      ShardSums own(shards, ranks, 1);
      const ShardRange range = own.RangeOf(rank);
      ASSERT_LT(range.first, range.last) << "rank " << rank << " of " << ranks << " has nothing to do";
      for (int64_t shard = range.first; shard < range.last; ++shard) {
        own.row(shard)[0] = gradients[static_cast<size_t>(shard)];
      }
      own.AddOwn(rank);
      for (const int64_t shard : own.PartialSumsOf(rank)) gathered.row(shard)[0] = own.row(shard)[0];
    }
    gathered.AddAll();
    EXPECT_EQ(gathered.total()[0], PairwiseSum(gradients, 0, NextPowerOfTwo(gradients.size())))
        << shards << " shards, " << ranks << " ranks";
    EXPECT_EQ(gathered.TotalLoss().loss, losses.loss);
    EXPECT_EQ(gathered.TotalLoss().entropy, losses.entropy);
    EXPECT_EQ(gathered.TotalLoss().importance, losses.importance);
  }
}

TEST(ShardSums, EachShardHasOneRank) {
  for (int64_t shards = 1; shards <= 20; ++shards) {
    for (int64_t ranks = 1; ranks <= shards; ++ranks) {
      const ShardSums sums(shards, ranks, 1);
      int64_t next = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(sums.RangeOf(rank).first, next);
        next = sums.RangeOf(rank).last;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(ShardSums, ARankHandsOnOneRowWhereShardsAreAPowerOfTwoForEach) {
  for (const int64_t ranks : {1, 2, 3, 4, 7}) {
    for (const int64_t each : {1, 2, 4, 8}) {
      const ShardSums sums(ranks * each, ranks, 1);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(sums.PartialSumsOf(rank), std::vector<int64_t>{rank * each});
      }
    }
  }
}

}  // namespace
}  // namespace emplace
