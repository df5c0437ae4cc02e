// A rank's share of a gradient, as the arrays of a RankData.
#pragma once

#include "common/wire/array_bundle.h"
#include "learner/update/shard_sums.h"

namespace emplace {

// The partial sums and losses of this rank. REQUIRES: AddOwn was called for it.
ArrayBundle SharesOf(int64_t rank, ShardSums& sums);
// Writes them to `sums`. Throws BadInput, and changes nothing, when the sizes are not those of the rank.
void TakeShares(const ArrayBundle& bundle, int64_t rank, ShardSums& sums);

}  // namespace emplace
