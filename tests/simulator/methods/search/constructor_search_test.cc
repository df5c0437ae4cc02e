#include "simulator/methods/search/constructor_search.h"

#include <gtest/gtest.h>

#include "simulator/graph/placement.h"
#include "simulator/methods/lists/priority.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

WalkResult Ranked(const ScheduleGraph& graph, const Placement& placement) {
  auto priority = std::make_shared<const Priority>(ByUpwardRank(graph, placement));
  PlacementScorer scorer(graph.task());
  scorer.SetPriority(*priority);
  return {{"start", placement, scorer.Score(placement), {}}, priority};
}

WalkResult Found(const ScheduleGraph& graph, const WalkResult& start, int64_t budget, int threads) {
  ConstructorSearch search(graph, 7);
  ThreadTeam team(threads);
  SearchLimit limit(budget, 0, {});
  return search.From(start, 1, limit, team);
}

class ConstructorSearchTest : public ::testing::TestWithParam<LinkModel> {
 protected:
  static RandomTaskSource Source(uint64_t seed) {
    Rng rng(seed);
    return RandomSource(rng, {.max_ops = 80, .parameters = 6, .restricted = 0.1, .link_model = GetParam()});
  }
  static PlacementTask Task(const RandomTaskSource& source) {
    return PlacementTask::Make(source.graph, source.cluster, 12);
  }
  static WalkResult Start(const ScheduleGraph& graph, uint64_t seed) {
    Rng rng(seed + 1000);
    return Ranked(graph, RandomGroupPlacement(graph.task(), rng));
  }
};

TEST_P(ConstructorSearchTest, FindsLegalPlacementsWithTheScoreOfTheirOrder) {
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    const RandomTaskSource source = Source(seed);
    const PlacementTask task = Task(source);
    const ScheduleGraph graph(task);
    const WalkResult found = Found(graph, Start(graph, seed), 20, 2);
    EXPECT_NO_THROW(CheckPlacement(source.graph, source.cluster, found.entry.placement)) << "seed " << seed;
    EXPECT_EQ(Ranked(graph, found.entry.placement).entry.score, found.entry.score) << "seed " << seed;
    EXPECT_EQ(ByUpwardRank(graph, found.entry.placement), *found.priority) << "seed " << seed;
  }
}

TEST_P(ConstructorSearchTest, NeverEndsWorseThanTheStartOrAShorterSearch) {
  uint64_t better = 0;
  for (uint64_t seed = 0; seed < Trials(20); ++seed) {
    const PlacementTask task = Task(Source(seed));
    const ScheduleGraph graph(task);
    WalkResult before = Start(graph, seed);
    const SearchScore first = before.entry.score;
    const WalkResult start = before;
    for (const int64_t budget : {1, 3, 8, 9, 30}) {
      const WalkResult found = Found(graph, start, budget, 1);
      EXPECT_LE(found.entry.score, before.entry.score) << "seed " << seed << " budget " << budget;
      before = found;
    }
    if (before.entry.score < first) ++better;
  }
  EXPECT_GT(4 * better, 3 * Trials(20));
}

TEST_P(ConstructorSearchTest, WithABudgetDoesNotDependOnTheNumberOfThreads) {
  for (uint64_t seed = 0; seed < Trials(10); ++seed) {
    const PlacementTask task = Task(Source(seed));
    const ScheduleGraph graph(task);
    const WalkResult start = Start(graph, seed);
    const WalkResult one = Found(graph, start, 21, 1);
    const WalkResult three = Found(graph, start, 21, 3);
    EXPECT_EQ(one.entry.placement, three.entry.placement) << "seed " << seed;
    EXPECT_EQ(one.entry.score, three.entry.score) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(LinkModels, ConstructorSearchTest,
                         ::testing::Values(LinkModel::kShared, LinkModel::kPerDestination, LinkModel::kTopology));

TEST(ConstructorSearch, LeavesADeviceThatHasTooLittleMemory) {
  int fits = 0;
  int trials = 0;
  for (uint64_t seed = 0; seed < Trials(30); ++seed) {
    Rng rng(seed);
    PlacementTask task = RandomTask(rng, {.max_ops = 60, .parameters = 6, .memory_bytes = int64_t{1} << 40});
    const ScheduleGraph graph(task);
    const Placement first(static_cast<size_t>(task.sim.num_ops), 0);
    PlacementScorer scorer(task);
    scorer.Score(first);
    for (int64_t& bytes : task.sim.memory_bytes) bytes = scorer.peak_bytes()[0] * 4 / 5;
    const WalkResult start = Ranked(graph, first);
    if (task.sim.num_devices == 1 || start.entry.score.bytes_over == 0) continue;
    ++trials;
    const WalkResult found = Found(graph, start, 40, 2);
    EXPECT_LT(found.entry.score, start.entry.score) << "seed " << seed;
    fits += found.entry.score.bytes_over == 0 ? 1 : 0;
  }
  EXPECT_GT(2 * fits, trials);
}

}  // namespace
}  // namespace emplace
