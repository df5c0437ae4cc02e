#include "simulator/graph/acyclic_contraction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(AcyclicContraction, MergesRunsAsIfOneAfterTheOther) {
  constexpr int32_t kNodes = 30;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    std::vector<std::pair<int32_t, int32_t>> edges;
    for (int32_t to = 1; to < kNodes; ++to) {
      for (int64_t i = rng.UniformInt(0, 3); i > 0; --i)
        edges.emplace_back(static_cast<int32_t>(rng.UniformInt(0, to - 1)), to);
    }
    AcyclicContraction one_by_one(kNodes, edges);
    AcyclicContraction at_once(kNodes, edges);
    for (int round = 0; round < 3; ++round) {
      const std::vector<int32_t> order = at_once.Order();
      std::vector<bool> with_next(order.size());
      for (size_t i = 0; i + 1 < order.size(); ++i) with_next[i] = rng.UniformInt(0, 2) == 0;
      at_once.MergeRuns(order, with_next);
      for (size_t i = 0; i < order.size(); ++i) {
        if (with_next[i]) one_by_one.MergeNeighbours(one_by_one.Find(order[i]), order[i + 1]);
      }
      ASSERT_EQ(at_once.Order(), one_by_one.Order());
      for (const int32_t node : at_once.Order()) {
        ASSERT_TRUE(std::ranges::equal(at_once.Successors(node), one_by_one.Successors(node)));
        ASSERT_TRUE(std::ranges::equal(at_once.Predecessors(node), one_by_one.Predecessors(node)));
      }
    }
  }
}

}  // namespace
}  // namespace emplace
