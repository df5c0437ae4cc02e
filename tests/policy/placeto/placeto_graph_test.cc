#include "policy/placeto/placeto_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/rng.h"

namespace emplace {
namespace {

PlacetoGraph FromParents(const std::vector<std::vector<int32_t>>& parents) {
  GroupGraph groups;
  groups.num_groups = static_cast<int32_t>(parents.size());
  groups.num_devices = 1;
  for (const std::vector<int32_t>& row : parents) {
    groups.parents.items.insert(groups.parents.items.end(), row.begin(), row.end());
    groups.parents.begin.push_back(static_cast<int32_t>(groups.parents.items.size()));
  }
  groups.DeriveChildren();
  return PlacetoGraph(groups);
}

TEST(PlacetoGraph, FeaturesAreDividedByTheirMaximum) {
  GroupGraph groups;
  groups.num_groups = 3;
  groups.num_devices = 1;
  groups.cost_us = {2, 8, 4};
  groups.output_bytes = {0, 0, 0};
  groups.memory_bytes = {10, 5, 0};
  groups.allowed = {1, 1, 1};
  groups.parents.begin = {0, 0, 0, 0};
  groups.DeriveChildren();
  const PlacetoGraph graph(groups);
  EXPECT_EQ(graph.cost, (std::vector<float>{0.25F, 1, 0.5F}));
  EXPECT_EQ(graph.bytes, (std::vector<float>{0, 0, 0}));  // A maximum of zero divides nothing.
  EXPECT_EQ(graph.memory, (std::vector<float>{1, 0.5F, 0}));
  EXPECT_EQ(graph.allowed, groups.allowed);
}

TEST(PlacetoGraph, AnEmptyGraphHasNoRows) {
  const PlacetoGraph graph = FromParents({});
  EXPECT_EQ(graph.children.rows(), 0);
  EXPECT_TRUE(graph.ancestors.empty());
}

TEST(PlacetoGraph, ADiamondBesideALoneNode) {
  // 0 -> 1 -> 3, 0 -> 2 -> 3; 4 stands alone.
  const PlacetoGraph graph = FromParents({{}, {0}, {0}, {1, 2}, {}});
  EXPECT_EQ(graph.children, (Csr{{0, 2, 3, 4, 4, 4}, {1, 2, 3, 3}}));
  EXPECT_TRUE(graph.IsAncestor(3, 0));
  EXPECT_TRUE(graph.IsDescendant(0, 3));
  EXPECT_FALSE(graph.IsAncestor(1, 2));
  EXPECT_FALSE(graph.IsDescendant(1, 2));
  EXPECT_FALSE(graph.IsAncestor(3, 3));
  EXPECT_FALSE(graph.IsAncestor(4, 0));
}

TEST(PlacetoGraph, ClosureEqualsADepthFirstSearchFromEveryNode) {
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
      const PlacetoGraph graph = FromParents(parents);
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
