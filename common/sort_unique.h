#pragma once

#include <algorithm>
#include <vector>

namespace emplace {

// Sorts values, and leaves one of those that are equal.
template <typename T>
void SortUnique(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace emplace
