#include "simulator/task/group_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/random_task.h"

namespace emplace {
namespace {

TEST(GroupGraph, TakesParentsFromForwardEdgesAlone) {
  GroupedGraph grouped;
  grouped.num_groups = 3;
  grouped.cost_us = {2, 8, 4};
  grouped.output_bytes = {0, 1, 0};
  grouped.memory_bytes = {10, 5, 0};
  grouped.edges = {{0, 1, 7}, {0, 2, 7}, {1, 2, 7}};
  grouped.feedback_edges = {{2, 0, 7}};
  grouped.allowed = {1, 1, 0, 1, 1, 0};
  const GroupGraph graph = MakeGroupGraph(grouped, 2);
  EXPECT_EQ(graph.cost_us, grouped.cost_us);
  EXPECT_EQ(graph.output_bytes, grouped.output_bytes);
  EXPECT_EQ(graph.memory_bytes, grouped.memory_bytes);
  EXPECT_EQ(graph.parents, (Csr{{0, 0, 1, 3}, {0, 0, 1}}));
  EXPECT_EQ(graph.children, (Csr{{0, 2, 3, 3}, {1, 2, 2}}));
  EXPECT_TRUE(graph.Allowed(1, 1));
  EXPECT_FALSE(graph.Allowed(1, 0));
}

TEST(GroupGraph, RandomGraphsFollowTheOpsTheyStandFor) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.restricted = 0.2});
    const GroupedGraph grouped = GroupOps(source.graph, source.cluster, 10);
    const GroupGraph graph = MakeGroupGraph(grouped, source.cluster.num_devices());
    // Straight from the ops: who reads whom, and how many bytes each group makes.
    std::map<GroupIndex, std::set<int32_t>> parents;
    std::map<GroupIndex, std::set<int32_t>> children;
    std::vector<int64_t> bytes(static_cast<size_t>(grouped.num_groups));
    for (size_t o = 0; o < grouped.group_of_op.size(); ++o) {
      const GroupIndex reader = grouped.group_of_op[o];
      bytes[static_cast<size_t>(reader)] += source.graph.ops()[o].OutputBytes();
      for (const OpInput& input : source.graph.ops()[o].inputs) {
        const GroupIndex producer = grouped.group_of_op[static_cast<size_t>(input.producer)];
        if (producer == reader) continue;
        parents[reader].insert(producer);
        children[producer].insert(reader);
      }
    }
    const auto as_set = [](std::span<const int32_t> row) { return std::set<int32_t>(row.begin(), row.end()); };
    for (GroupIndex g = 0; g < graph.num_groups; ++g) {
      ASSERT_EQ(as_set(graph.parents.Row(g)), parents[g]) << "seed " << seed;
      ASSERT_EQ(as_set(graph.children.Row(g)), children[g]) << "seed " << seed;
      ASSERT_TRUE(std::ranges::is_sorted(graph.children.Row(g)));
      ASSERT_EQ(graph.output_bytes[static_cast<size_t>(g)], bytes[static_cast<size_t>(g)]) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace emplace
