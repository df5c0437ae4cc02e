// A list of int32 lists (rows), stored in two flat arrays.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

struct Csr {
  std::vector<int32_t> begin = {0};  // [rows + 1]; row r is items[begin[r]] to items[begin[r + 1] - 1].
  std::vector<int32_t> items;

  int32_t rows() const { return static_cast<int32_t>(begin.size()) - 1; }
  std::span<const int32_t> Row(int32_t row) const {
    const auto first = static_cast<size_t>(begin[static_cast<size_t>(row)]);
    const auto last = static_cast<size_t>(begin[static_cast<size_t>(row) + 1]);
    return std::span<const int32_t>(items).subspan(first, last - first);
  }
  bool operator==(const Csr&) const = default;
};

// The rows, one after the other.
inline Csr CsrFromRows(std::span<const std::vector<int32_t>> rows) {
  Csr csr;
  csr.begin.reserve(rows.size() + 1);
  for (const std::vector<int32_t>& row : rows) {
    csr.items.insert(csr.items.end(), row.begin(), row.end());
    csr.begin.push_back(static_cast<int32_t>(csr.items.size()));
  }
  return csr;
}

// The rows of pairs (row, item), each with its items in the order of the pairs. for_each_pair(visit) calls
// visit(row, item) for all pairs; it is called twice and must visit them in the same order. REQUIRES: every row is in
// [0, rows).
template <typename ForEachPair>
Csr CsrFromPairs(int32_t rows, const ForEachPair& for_each_pair) {
  Csr csr;
  csr.begin.assign(static_cast<size_t>(rows) + 1, 0);
  for_each_pair([&](int32_t row, int32_t /*item*/) { ++csr.begin[static_cast<size_t>(row) + 1]; });
  for (size_t i = 1; i < csr.begin.size(); ++i) csr.begin[i] += csr.begin[i - 1];
  csr.items.resize(static_cast<size_t>(csr.begin.back()));
  std::vector<int32_t> next(csr.begin.begin(), csr.begin.end() - 1);
  for_each_pair(
      [&](int32_t row, int32_t item) { csr.items[static_cast<size_t>(next[static_cast<size_t>(row)]++)] = item; });
  return csr;
}
// pairs: of (row, item).
inline Csr CsrFromPairs(int32_t rows, const std::vector<std::pair<int32_t, int32_t>>& pairs) {
  return CsrFromPairs(rows, [&](auto visit) {
    for (const auto& [row, item] : pairs) visit(row, item);
  });
}

}  // namespace emplace
