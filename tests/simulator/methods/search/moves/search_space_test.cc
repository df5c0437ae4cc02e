#include "simulator/methods/search/moves/search_space.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/methods/search/moves/columns.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(SearchSpace, LevelsAreNestedAndLegal) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 300, .restricted = 0.1});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    const SearchSpace space(task);
    const auto devices = static_cast<size_t>(task.sim.num_devices);
    for (size_t l = 0; l < space.levels().size(); ++l) {
      const SearchLevel& level = space.levels()[l];
      ASSERT_EQ(level.ops.items.size(), static_cast<size_t>(task.sim.num_ops));
      for (GroupIndex group = 0; group < level.num_groups(); ++group) {
        const std::span<const OpIndex> ops = level.ops.Row(group);
        ASSERT_FALSE(ops.empty());
        bool any = false;
        for (size_t d = 0; d < devices; ++d) {
          const bool every_op = std::all_of(ops.begin(), ops.end(), [&](OpIndex op) {
            return source.graph.op(op).AllowedOn(source.cluster.devices[d].kind);
          });
          ASSERT_EQ(level.allowed[static_cast<size_t>(group) * devices + d] == 1, every_op);
          any |= every_op;
        }
        ASSERT_TRUE(any);
        if (l == 0) continue;
        // What is together on the finer level is together here: groups of the finer level lie in one group.
        const SearchLevel& finer = space.levels()[l - 1];
        for (const OpIndex op : ops) {
          for (const OpIndex other : finer.ops.Row(finer.group_of_op[static_cast<size_t>(op)])) {
            ASSERT_EQ(level.group_of_op[static_cast<size_t>(other)], group);
          }
        }
      }
      ASSERT_TRUE(l < 2 || 2 * level.num_groups() <= space.levels()[l - 1].num_groups());
    }
    for (const Op& op : source.graph.ops()) {
      if (op.group.empty()) continue;
      GroupIndex of_label = -1;
      for (OpIndex o = 0; o < source.graph.num_ops(); ++o) {
        if (source.graph.op(o).group != op.group) continue;
        const GroupIndex group = space.levels()[0].group_of_op[static_cast<size_t>(o)];
        ASSERT_TRUE(of_label < 0 || group == of_label);
        of_label = group;
      }
    }
  }
}

TEST(SearchSpace, ColumnsAreNestedKeepUnitsAndHaveADevice) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 300, .parameters = 20, .restricted = 0.1});
    const SearchSpace space(task, /*with_columns=*/true);
    ASSERT_EQ(space.columns().size(), space.levels().size() - 1);
    for (size_t l = 0; l < space.columns().size(); ++l) {
      const SearchLevel& columns = space.columns()[l];
      const std::vector<GroupIndex>& finer =
          l == 0 ? space.levels()[0].group_of_op : space.columns()[l - 1].group_of_op;
      for (GroupIndex column = 0; column < columns.num_groups(); ++column) {
        const std::span<const OpIndex> ops = columns.ops.Row(column);
        ASSERT_FALSE(ops.empty());
        const auto allowed = std::span(columns.allowed)
                                 .subspan(static_cast<size_t>(column) * static_cast<size_t>(task.sim.num_devices),
                                          static_cast<size_t>(task.sim.num_devices));
        ASSERT_GT(std::ranges::count(allowed, 1), 0);
      }
      for (size_t a = 0; a < finer.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          ASSERT_TRUE(finer[a] != finer[b] || columns.group_of_op[a] == columns.group_of_op[b]);
        }
      }
    }
  }
}

// A group of a level could not hold f0 and b0 alone: they run before and after the others. All but b1 and b0 send as
// much, but f0 and b0 are cheaper than f1, which reads f0, too.
TEST(SearchSpace, AColumnMayHoldForwardAndBackwardOfALayer) {
  const PlacementTask task = HandTask({HandOp("f0", 10, {}, 1000), HandOp("f1", 40, {0}, 1000),
                                       HandOp("b1", 40, {1}, 10), HandOp("b0", 10, {0, 2}, 10)},
                                      HandCluster(2));
  const std::vector<GroupIndex> units = {0, 1, 2, 3};
  const std::vector<std::vector<GroupIndex>> columns = ColumnsByLevel(task.sim, units, {4, 3});
  EXPECT_EQ(columns[0], units);
  EXPECT_EQ(columns[1], (std::vector<GroupIndex>{0, 1, 2, 0}));
}

}  // namespace
}  // namespace emplace
