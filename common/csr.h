// A list of int32 lists (rows), stored in two flat arrays.
#pragma once

#include <cstdint>
#include <span>
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

}  // namespace emplace
