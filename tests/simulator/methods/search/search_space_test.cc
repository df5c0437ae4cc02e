#include "simulator/methods/search/search_space.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace emplace
