#include "simulator/environment/featurizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/random_task.h"

namespace emplace {
namespace {

TEST(Featurizer, DividesByTheMaximumAndTakesParentsFromForwardEdges) {
  GroupedGraph grouped;
  grouped.num_groups = 3;
  grouped.cost_us = {2, 8, 4};
  grouped.output_bytes = {0, 0, 0};
  grouped.memory_bytes = {10, 5, 0};
  grouped.edges = {{0, 1, 7}, {0, 2, 7}, {1, 2, 7}};
  grouped.feedback_edges = {{2, 0, 7}};
  grouped.allowed = {1, 1, 0, 1, 1, 0};
  const PolicyGraph graph = MakePolicyGraph(grouped, 2);
  EXPECT_EQ(graph.cost, (std::vector<float>{0.25F, 1, 0.5F}));
  EXPECT_EQ(graph.bytes, (std::vector<float>{0, 0, 0}));  // A maximum of zero divides nothing.
  EXPECT_EQ(graph.memory, (std::vector<float>{1, 0.5F, 0}));
  EXPECT_EQ(graph.parents, (Csr{{0, 0, 1, 3}, {0, 0, 1}}));
  EXPECT_EQ(graph.allowed, grouped.allowed);
  EXPECT_FALSE(graph.IsDescendant(2, 0));  // What points back orders nothing.
}

TEST(Featurizer, RandomGraphsFollowTheOpsTheyStandFor) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.restricted = 0.2});
    const GroupedGraph grouped = GroupOps(source.graph, source.cluster, 10);
    const PolicyGraph graph = MakePolicyGraph(grouped, source.cluster.num_devices());
    // Straight from the ops: who reads whom, and how many bytes each group makes.
    std::map<GroupIndex, std::set<int32_t>> parents;
    std::vector<double> bytes(static_cast<size_t>(grouped.num_groups));
    for (size_t o = 0; o < grouped.group_of_op.size(); ++o) {
      const GroupIndex reader = grouped.group_of_op[o];
      bytes[static_cast<size_t>(reader)] += static_cast<double>(source.graph.ops()[o].OutputBytes());
      for (const OpInput& input : source.graph.ops()[o].inputs) {
        const GroupIndex producer = grouped.group_of_op[static_cast<size_t>(input.producer)];
        if (producer != reader) parents[reader].insert(producer);
      }
    }
    const double most = *std::max_element(bytes.begin(), bytes.end());
    for (GroupIndex g = 0; g < graph.num_nodes; ++g) {
      const std::span<const int32_t> row = graph.parents.Row(g);
      ASSERT_EQ(std::set<int32_t>(row.begin(), row.end()), parents[g]) << "seed " << seed;
      const double expected = most > 0 ? bytes[static_cast<size_t>(g)] / most : 0;
      ASSERT_NEAR(graph.bytes[static_cast<size_t>(g)], expected, 1e-6) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace emplace
