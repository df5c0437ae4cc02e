#include "common/csr.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/rng.h"

namespace emplace {
namespace {

TEST(Csr, RowsHaveTheItemsOfTheirPairsInTheOrderOfThePairs) {
  Rng rng(1);
  for (int trial = 0; trial < 100; ++trial) {
    const auto rows = static_cast<int32_t>(rng.UniformInt(0, 8));
    std::vector<std::pair<int32_t, int32_t>> pairs;
    std::vector<std::vector<int32_t>> expected(static_cast<size_t>(rows));
    for (int64_t i = rows == 0 ? 0 : rng.UniformInt(0, 30); i > 0; --i) {
      const auto row = static_cast<int32_t>(rng.UniformInt(0, rows - 1));
      pairs.emplace_back(row, static_cast<int32_t>(rng.UniformInt(-5, 5)));
      expected[static_cast<size_t>(row)].push_back(pairs.back().second);
    }
    const Csr csr = CsrFromPairs(rows, pairs);
    ASSERT_EQ(csr.rows(), rows);
    ASSERT_EQ(csr.items.size(), pairs.size());
    for (int32_t row = 0; row < rows; ++row) {
      EXPECT_EQ(std::vector<int32_t>(csr.Row(row).begin(), csr.Row(row).end()), expected[static_cast<size_t>(row)]);
    }
    EXPECT_EQ(CsrFromRows(expected), csr);
  }
}

}  // namespace
}  // namespace emplace
