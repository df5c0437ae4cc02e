#include "learner/ranks/shard_message.h"

#include <algorithm>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr char kRows[] = "rows";      // float32 [partial sums, parameters]
constexpr char kLosses[] = "losses";  // float64 [shards, 3]: loss, entropy, importance
constexpr size_t kLossNumbers = 3;

}  // namespace

ArrayBundle SharesOf(int64_t rank, ShardSums& sums) {
  std::vector<float> rows;
  for (const int64_t shard : sums.PartialSumsOf(rank)) {
    const std::span<const float> row = sums.row(shard);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  std::vector<double> losses;
  const ShardRange own = sums.RangeOf(rank);
  for (int64_t shard = own.first; shard < own.last; ++shard) {
    const LossSums& loss = sums.loss(shard);
    losses.insert(losses.end(), {loss.loss, loss.entropy, loss.importance});
  }
  ArrayBundle bundle;
  bundle.Put(kRows, rows);
  bundle.Put(kLosses, losses);
  return bundle;
}

void TakeShares(const ArrayBundle& bundle, int64_t rank, ShardSums& sums) {
  const std::vector<float> rows = bundle.Get<float>(kRows);
  const std::vector<double> losses = bundle.Get<double>(kLosses);
  const std::vector<int64_t> wanted = sums.PartialSumsOf(rank);
  const ShardRange own = sums.RangeOf(rank);
  const size_t parameters = sums.total().size();
  const size_t shards = static_cast<size_t>(own.last - own.first);
  if (rows.size() != wanted.size() * parameters || losses.size() != shards * kLossNumbers) {
    throw BadInput(StrCat("a share of ", rows.size(), " numbers and ", losses.size(), " losses, expected ",
                          wanted.size() * parameters, " and ", shards * kLossNumbers));
  }
  std::span<const float> rest = rows;
  for (const int64_t shard : wanted) {
    std::ranges::copy(rest.first(parameters), sums.row(shard).begin());
    rest = rest.subspan(parameters);
  }
  for (size_t i = 0; i < shards; ++i) {
    const double* const numbers = &losses[i * kLossNumbers];
    sums.loss(own.first + static_cast<int64_t>(i)) = {numbers[0], numbers[1], numbers[2]};
  }
}

}  // namespace emplace
