#include "learner/update/shard_sums.h"

#include <algorithm>
#include <functional>

#include "common/error.h"

namespace emplace {

ShardSums::ShardSums(int64_t shards, int64_t ranks, size_t parameters)
    : shards_(shards),
      ranks_(ranks),
      parameters_(parameters),
      rows_(static_cast<size_t>(shards)),
      losses_(static_cast<size_t>(shards)) {
  EMPLACE_CHECK(ranks > 0 && ranks <= shards);
}

ShardRange ShardSums::RangeOf(int64_t rank) const { return {shards_ * rank / ranks_, shards_ * (rank + 1) / ranks_}; }

std::span<float> ShardSums::row(int64_t shard) {
  std::vector<float>& row = rows_[static_cast<size_t>(shard)];
  row.resize(parameters_);
  return row;
}

template <typename Wanted>
void ShardSums::AddWhere(Wanted wanted) {
  for (int64_t apart = 1; apart < shards_; apart *= 2) {
    for (int64_t i = 0; i + apart < shards_; i += 2 * apart) {
      if (!wanted(i, std::min(i + 2 * apart, shards_))) continue;
      const std::span<float> sum = row(i);
      const std::span<float> other = row(i + apart);
      std::transform(sum.begin(), sum.end(), other.begin(), sum.begin(), std::plus<>());
    }
  }
}

bool ShardSums::OfOneRank(int64_t first, int64_t last) const {
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    const ShardRange range = RangeOf(rank);
    if (range.first <= first && first < range.last) return last <= range.last;
  }
  return false;
}

void ShardSums::AddOwn(int64_t rank) {
  const ShardRange own = RangeOf(rank);
  AddWhere([own](int64_t first, int64_t last) { return own.first <= first && last <= own.last; });
}

void ShardSums::AddAll() {
  AddWhere([this](int64_t first, int64_t last) { return !OfOneRank(first, last); });
}

std::vector<int64_t> ShardSums::PartialSumsOf(int64_t rank) const {
  const ShardRange own = RangeOf(rank);
  std::vector<int64_t> rows;
  for (int64_t first = own.first; first < own.last;) {
    rows.push_back(first);
    // The largest sum of the order that begins here and is all of this rank's.
    int64_t width = 1;
    while (width < shards_ && first % (2 * width) == 0 && std::min(first + 2 * width, shards_) <= own.last) width *= 2;
    first += width;
  }
  return rows;
}

LossSums ShardSums::TotalLoss() const {
  LossSums total;
  for (const LossSums& loss : losses_) total += loss;
  return total;
}

}  // namespace emplace
