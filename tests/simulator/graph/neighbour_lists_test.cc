#include "simulator/graph/neighbour_lists.h"

#include <gtest/gtest.h>

#include <set>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(NeighbourLists, AreSetsThatChange) {
  constexpr int32_t kNodes = 12;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const auto node = [&] { return static_cast<int32_t>(rng.UniformInt(0, kNodes - 1)); };
    std::vector<std::pair<int32_t, int32_t>> pairs;
    std::vector<std::set<int32_t>> sets(kNodes);
    for (int i = 0; i < 40; ++i) {
      pairs.emplace_back(node(), node());
      sets[static_cast<size_t>(pairs.back().first)].insert(pairs.back().second);
    }
    NeighbourLists lists(kNodes, pairs);
    for (int change = 0; change < 60; ++change) {
      const int32_t at = node();
      std::set<int32_t>& set = sets[static_cast<size_t>(at)];
      if (rng.UniformInt(0, 1) == 0) {
        set.clear();
        for (int64_t i = rng.UniformInt(0, 20); i > 0; --i) set.insert(node());
        const int32_t other = node();
        const std::set<int32_t>& others = sets[static_cast<size_t>(other)];
        lists.TakeRoom(at, other);
        lists.Set(at, std::vector<int32_t>(set.begin(), set.end()));
        lists.Set(other, std::vector<int32_t>(others.begin(), others.end()));
      } else if (!set.empty() && *set.rbegin() > 0) {
        const int32_t old_value = *set.rbegin();
        const auto new_value = static_cast<int32_t>(rng.UniformInt(0, old_value - 1));
        set.erase(old_value);
        set.insert(new_value);
        lists.Replace(at, old_value, new_value);
      }
      for (int32_t other = 0; other < kNodes; ++other) {
        const auto list = lists.At(other);
        ASSERT_EQ(
            std::vector<int32_t>(list.begin(), list.end()),
            std::vector<int32_t>(sets[static_cast<size_t>(other)].begin(), sets[static_cast<size_t>(other)].end()))
            << "seed " << seed << ", change " << change << ", list " << other;
      }
    }
  }
}

}  // namespace
}  // namespace emplace
