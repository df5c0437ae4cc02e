#include "simulator/graph/search_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "simulator/graph/grouping.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

constexpr int32_t kFewest = 3;

Groupings RandomGroupings(uint64_t seed) {
  Rng rng(seed);
  const RandomTaskSource source = RandomSource(rng, {.max_ops = 200, .parameters = 5, .restricted = 0.1});
  return GroupOpsBothWays(source.graph, source.cluster, {.max_groups = 12, .fewest = kFewest});
}

// Whether ops that are together in `fine` are so in `coarse`.
bool IsNested(const std::vector<GroupIndex>& fine, const std::vector<GroupIndex>& coarse) {
  std::vector<GroupIndex> coarse_of(static_cast<size_t>(CountOf(fine)), -1);
  for (size_t op = 0; op < fine.size(); ++op) {
    GroupIndex& group = coarse_of[static_cast<size_t>(fine[op])];
    if (group >= 0 && group != coarse[op]) return false;
    group = coarse[op];
  }
  return true;
}

TEST(SearchLevels, AreNestedAndHalve) {
  int coarsened = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    const Groupings groupings = RandomGroupings(seed);
    const std::vector<std::vector<GroupIndex>>& levels = groupings.levels->All();
    ASSERT_GE(levels.size(), 2);
    ASSERT_EQ(levels[0], groupings.levels->Finest());
    ASSERT_EQ(levels[1], groupings.units);
    for (size_t level = 1; level < levels.size(); ++level) {
      ASSERT_TRUE(IsNested(levels[level - 1], levels[level])) << "seed " << seed << ", level " << level;
      if (level == 1) continue;
      ASSERT_LE(CountOf(levels[level]), std::max(kFewest, CountOf(levels[level - 1]) / 2));
      ++coarsened;
    }
  }
  EXPECT_GT(coarsened, 0);
}

TEST(SearchLevels, AreTheSameForAllThreads) {
  for (uint64_t seed = 0; seed < Trials(20); ++seed) {
    const Groupings groupings = RandomGroupings(seed);
    std::vector<const std::vector<std::vector<GroupIndex>>*> seen(4);
    std::vector<std::thread> threads;
    for (auto& levels : seen) threads.emplace_back([&] { levels = &groupings.levels->All(); });
    for (std::thread& thread : threads) thread.join();
    for (const auto* levels : seen) ASSERT_EQ(levels, seen.front());
    ASSERT_EQ(*seen.front(), RandomGroupings(seed).levels->All());
  }
}

TEST(SearchLevels, KeepWhatThereIsWhereTheFirstCallIsStopped) {
  const Groupings groupings = RandomGroupings(1);
  const StopSignal now([] { return true; });
  EXPECT_EQ(groupings.levels->All(now).size(), 2);
  EXPECT_EQ(groupings.levels->All().size(), 2);
}

}  // namespace
}  // namespace emplace
