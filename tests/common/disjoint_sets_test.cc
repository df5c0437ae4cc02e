#include "common/disjoint_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

// Against labels that are all rewritten with each join.
TEST(DisjointSets, AreThoseOfLabelsThatAreRewritten) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const auto n = static_cast<int32_t>(rng.UniformInt(1, 40));
    DisjointSets sets(n);
    std::vector<int32_t> lowest;
    for (int32_t item = 0; item < n; ++item) lowest.push_back(item);
    for (int32_t step = 0; step < n; ++step) {
      const auto a = static_cast<size_t>(rng.UniformInt(0, n - 1));
      const auto b = static_cast<size_t>(rng.UniformInt(0, n - 1));
      const int32_t kept = std::min(lowest[a], lowest[b]);
      const int32_t gone = std::max(lowest[a], lowest[b]);
      ASSERT_EQ(sets.Join(static_cast<int32_t>(a), static_cast<int32_t>(b)), kept != gone);
      for (int32_t& label : lowest) label = label == gone ? kept : label;
      for (int32_t item = 0; item < n; ++item) ASSERT_EQ(sets.Find(item), lowest[static_cast<size_t>(item)]);
      ASSERT_EQ(sets.sets(), static_cast<int32_t>(std::set<int32_t>(lowest.begin(), lowest.end()).size()));
    }
  }
}

}  // namespace
}  // namespace emplace
