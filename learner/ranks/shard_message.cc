#include "learner/ranks/shard_message.h"

#include <algorithm>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr char kRows[] = "rows";      // float32 [partial sums, parameters]
constexpr char kLosses[] = "losses";  // float64 [shards, 3]: loss, entropy, importance
constexpr size_t kLossNumbers = 3;

// Numbers of a rank's share.
struct Sizes {
  size_t rows = 0;    // Floats of the partial sums.
  size_t losses = 0;  // Doubles of the shards' losses.
};
Sizes SizesOf(int64_t rank, ShardSums& sums) {
  const ShardRange own = sums.RangeOf(rank);
  return {sums.PartialSumsOf(rank).size() * sums.total().size(),
          static_cast<size_t>(own.last - own.first) * kLossNumbers};
}

std::vector<float> RowsOf(int64_t rank, ShardSums& sums) {
  std::vector<float> rows;
  for (const int64_t shard : sums.PartialSumsOf(rank)) {
    const std::span<const float> row = sums.row(shard);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

std::vector<double> LossesOf(int64_t rank, ShardSums& sums) {
  std::vector<double> losses;
  const ShardRange own = sums.RangeOf(rank);
  for (int64_t shard = own.first; shard < own.last; ++shard) {
    const LossSums& loss = sums.loss(shard);
    losses.insert(losses.end(), {loss.loss, loss.entropy, loss.importance});
  }
  return losses;
}

void Take(std::span<const float> rows, std::span<const double> losses, int64_t rank, ShardSums& sums) {
  const size_t parameters = sums.total().size();
  for (const int64_t shard : sums.PartialSumsOf(rank)) {
    std::ranges::copy(rows.first(parameters), sums.row(shard).begin());
    rows = rows.subspan(parameters);
  }
  const ShardRange own = sums.RangeOf(rank);
  for (int64_t shard = own.first; shard < own.last; ++shard) {
    sums.loss(shard) = {losses[0], losses[1], losses[2]};
    losses = losses.subspan(kLossNumbers);
  }
}

}  // namespace

ArrayBundle SharesOf(int64_t rank, ShardSums& sums) {
  ArrayBundle bundle;
  bundle.Put(kRows, RowsOf(rank, sums));
  bundle.Put(kLosses, LossesOf(rank, sums));
  return bundle;
}

void TakeShares(const ArrayBundle& bundle, int64_t rank, ShardSums& sums) {
  const std::vector<float> rows = bundle.Get<float>(kRows);
  const std::vector<double> losses = bundle.Get<double>(kLosses);
  const Sizes expected = SizesOf(rank, sums);
  if (rows.size() != expected.rows || losses.size() != expected.losses) {
    throw BadInput(StrCat("a share of ", rows.size(), " numbers and ", losses.size(), " losses, expected ",
                          expected.rows, " and ", expected.losses));
  }
  Take(rows, losses, rank, sums);
}

size_t PackedSize(int64_t rank, ShardSums& sums) {
  const Sizes sizes = SizesOf(rank, sums);
  return sizes.losses * sizeof(double) + sizes.rows * sizeof(float);
}

std::vector<std::byte> PackedShares(int64_t rank, ShardSums& sums) {
  const std::vector<double> losses = LossesOf(rank, sums);
  const std::vector<float> rows = RowsOf(rank, sums);
  std::vector<std::byte> bytes(PackedSize(rank, sums));
  const auto rest = std::ranges::copy(std::as_bytes(std::span(losses)), bytes.begin()).out;
  std::ranges::copy(std::as_bytes(std::span(rows)), rest);
  return bytes;
}

void TakePackedShares(std::span<const std::byte> bytes, int64_t rank, ShardSums& sums) {
  const Sizes sizes = SizesOf(rank, sums);
  EMPLACE_CHECK(bytes.size() == PackedSize(rank, sums));
  std::vector<double> losses(sizes.losses);
  std::vector<float> rows(sizes.rows);
  const size_t losses_bytes = losses.size() * sizeof(double);
  std::ranges::copy(bytes.first(losses_bytes), std::as_writable_bytes(std::span(losses)).begin());
  std::ranges::copy(bytes.subspan(losses_bytes), std::as_writable_bytes(std::span(rows)).begin());
  Take(rows, losses, rank, sums);
}

}  // namespace emplace
