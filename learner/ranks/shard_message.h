// A rank's share of a gradient, as the arrays of a RankData or as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/array_bundle.h"
#include "learner/update/shard_sums.h"

namespace emplace {

// The partial sums and losses of this rank. REQUIRES: AddOwn was called for it.
ArrayBundle SharesOf(int64_t rank, ShardSums& sums);
// Writes them to `sums`. Throws BadInput, and changes nothing, when the sizes are not those of the rank.
void TakeShares(const ArrayBundle& bundle, int64_t rank, ShardSums& sums);

// The same as bytes of a size that both sides know: the losses, then the partial sums.
size_t PackedSize(int64_t rank, ShardSums& sums);
std::vector<std::byte> PackedShares(int64_t rank, ShardSums& sums);
// REQUIRES: as many bytes as PackedSize says.
void TakePackedShares(std::span<const std::byte> bytes, int64_t rank, ShardSums& sums);

}  // namespace emplace
