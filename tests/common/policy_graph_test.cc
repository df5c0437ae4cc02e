#include "common/policy/policy_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/rng.h"

namespace emplace {
namespace {

PolicyGraph FromParents(const std::vector<std::vector<int32_t>>& parents) {
  PolicyGraph graph;
  graph.num_nodes = static_cast<int32_t>(parents.size());
  graph.num_devices = 1;
  for (const std::vector<int32_t>& row : parents) {
    graph.parents.items.insert(graph.parents.items.end(), row.begin(), row.end());
    graph.parents.begin.push_back(static_cast<int32_t>(graph.parents.items.size()));
  }
  graph.DeriveFromParents();
  return graph;
}

TEST(PolicyGraph, AnEmptyGraphHasNoRows) {
  const PolicyGraph graph = FromParents({});
  EXPECT_EQ(graph.children.rows(), 0);
  EXPECT_TRUE(graph.ancestors.empty());
}

TEST(PolicyGraph, ADiamondBesideALoneNode) {
  // 0 -> 1 -> 3, 0 -> 2 -> 3; 4 stands alone.
  const PolicyGraph graph = FromParents({{}, {0}, {0}, {1, 2}, {}});
  EXPECT_EQ(graph.children, (Csr{{0, 2, 3, 4, 4, 4}, {1, 2, 3, 3}}));
  EXPECT_TRUE(graph.IsAncestor(3, 0));
  EXPECT_TRUE(graph.IsDescendant(0, 3));
  EXPECT_FALSE(graph.IsAncestor(1, 2));
  EXPECT_FALSE(graph.IsDescendant(1, 2));
  EXPECT_FALSE(graph.IsAncestor(3, 3));
  EXPECT_FALSE(graph.IsAncestor(4, 0));
}

TEST(PolicyGraph, ClosureEqualsADepthFirstSearchFromEveryNode) {
  // Sizes on both sides of the 64 bits of a word.
  for (const int32_t n : {1, 2, 63, 64, 65, 127, 128, 200}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      Rng rng(seed * 1000 + static_cast<uint64_t>(n));
      std::vector<std::vector<int32_t>> parents(static_cast<size_t>(n));
      std::vector<std::vector<int32_t>> children(static_cast<size_t>(n));
      for (int32_t node = 1; node < n; ++node) {
        std::set<int32_t> row;
        for (int64_t i = rng.UniformInt(0, 2); i > 0; --i)
          row.insert(static_cast<int32_t>(rng.UniformInt(0, node - 1)));
        parents[static_cast<size_t>(node)].assign(row.begin(), row.end());
        for (const int32_t parent : row) children[static_cast<size_t>(parent)].push_back(node);
      }
      const PolicyGraph graph = FromParents(parents);
      for (int32_t node = 0; node < n; ++node) {
        const std::span<const int32_t> row = graph.children.Row(node);
        ASSERT_TRUE(std::equal(row.begin(), row.end(), children[static_cast<size_t>(node)].begin(),
                               children[static_cast<size_t>(node)].end()));
        std::vector<bool> reached(static_cast<size_t>(n));
        std::vector<int32_t> stack = children[static_cast<size_t>(node)];
        while (!stack.empty()) {
          const auto at = static_cast<size_t>(stack.back());
          stack.pop_back();
          if (reached[at]) continue;
          reached[at] = true;
          stack.insert(stack.end(), children[at].begin(), children[at].end());
        }
        for (int32_t other = 0; other < n; ++other) {
          ASSERT_EQ(graph.IsDescendant(node, other), reached[static_cast<size_t>(other)]) << node << " " << other;
          ASSERT_EQ(graph.IsAncestor(other, node), reached[static_cast<size_t>(other)]) << node << " " << other;
        }
      }
    }
  }
}

}  // namespace
}  // namespace emplace
