#include "simulator/graph/grouping.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <queue>
#include <set>

#include "common/error.h"
#include "common/strings.h"
#include "tests/support/make_op.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

Cluster Machine(const std::vector<std::string>& kinds) {
  Cluster cluster;
  for (const std::string& kind : kinds) {
    cluster.devices.push_back({StrCat("d:", cluster.devices.size()), kind, int64_t{1} << 40});
  }
  cluster.bandwidth_bytes_per_us = 1000;
  return cluster;
}

// Kahn's algorithm on the quotient of every edge of the op graph: independent of how grouping keeps its order.
bool QuotientIsAcyclic(const OpGraph& graph, const GroupedGraph& grouped) {
  std::set<std::pair<GroupIndex, GroupIndex>> edges;
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    for (const OpInput& input : graph.op(o).inputs) {
      const GroupIndex from = grouped.group_of_op[static_cast<size_t>(input.producer)];
      const GroupIndex to = grouped.group_of_op[static_cast<size_t>(o)];
      if (from != to) edges.insert({from, to});
    }
  }
  std::vector<int> missing(static_cast<size_t>(grouped.num_groups));
  for (const auto& [from, to] : edges) ++missing[static_cast<size_t>(to)];
  std::queue<GroupIndex> ready;
  for (GroupIndex g = 0; g < grouped.num_groups; ++g) {
    if (missing[static_cast<size_t>(g)] == 0) ready.push(g);
  }
  int done = 0;
  for (; !ready.empty(); ready.pop(), ++done) {
    for (auto edge = edges.lower_bound({ready.front(), 0}); edge != edges.end() && edge->first == ready.front();
         ++edge) {
      if (--missing[static_cast<size_t>(edge->second)] == 0) ready.push(edge->second);
    }
  }
  return done == grouped.num_groups;
}

// A random graph without ops that may not run somewhere.
OpGraph RandomOps(uint64_t seed, int32_t ops, double density) {
  Rng rng(seed);
  return RandomGraph(rng, {.max_ops = ops, .edge_density = density});
}

TEST(Grouping, AChainBecomesOneGroup) {
  const OpGraph graph("chain", {MakeOp("a", 1, {}), MakeOp("b", 2, {{0, 0}}), MakeOp("c", 3, {{1, 0}})});
  const GroupedGraph grouped = GroupOps(graph, Machine({"x", "x"}), 128);
  EXPECT_EQ(grouped.num_groups, 1);
  EXPECT_EQ(grouped.cost_us, (std::vector<double>{6}));
  EXPECT_EQ(grouped.output_bytes, (std::vector<int64_t>{30}));
}

TEST(Grouping, ADiamondKeepsItsBranches) {
  //   a -> b -> d, a -> c -> d: no chain, and four groups are allowed.
  const OpGraph graph("diamond", {MakeOp("a", 1, {}), MakeOp("b", 1, {{0, 0}}, {70}), MakeOp("c", 1, {{0, 0}}, {50}),
                                  MakeOp("d", 1, {{1, 0}, {2, 0}})});
  EXPECT_EQ(GroupOps(graph, Machine({"x"}), 128).num_groups, 4);
  // Three: the heaviest edge b -> d goes first. a -> {b, d} and a -> c -> {b, d} remain.
  const GroupedGraph three = GroupOps(graph, Machine({"x"}), 3);
  EXPECT_EQ(three.group_of_op, (std::vector<GroupIndex>{0, 2, 1, 2}));
  ASSERT_EQ(three.edges.size(), 3u);
  EXPECT_EQ(three.edges[0].bytes, 10);  // a -> c
  EXPECT_EQ(three.edges[1].bytes, 10);  // a -> {b, d}: one tensor, read once there
  EXPECT_EQ(three.edges[2].bytes, 50);  // c -> d
}

TEST(Grouping, ZeroCostOpsGoWithTheirFirstReader) {
  const OpGraph graph("w", {MakeOp("w", 0, {}, {400}), MakeOp("a", 1, {{0, 0}}), MakeOp("b", 1, {{0, 0}, {1, 0}}),
                            MakeOp("c", 1, {{0, 0}, {1, 0}}), MakeOp("d", 1, {{2, 0}, {3, 0}})});
  const GroupedGraph grouped = GroupOps(graph, Machine({"x", "x"}), 128);
  EXPECT_EQ(grouped.group_of_op[0], grouped.group_of_op[1]);
  EXPECT_EQ(grouped.num_groups, 4);
}

TEST(Grouping, LabelsAreHonouredEvenWhereTheyPointBack) {
  // The update goes with its parameter: group {w, update} feeds the branches and reads from the end.
  std::vector<Op> ops = {MakeOp("w", 0, {}, {400}), MakeOp("a", 5, {{0, 0}}), MakeOp("b", 5, {{0, 0}}),
                         MakeOp("grad", 5, {{1, 0}, {2, 0}}), MakeOp("update", 5, {{0, 0}, {3, 0}})};
  ops[0].group = ops[4].group = "w";
  const GroupedGraph grouped = GroupOps(OpGraph("u", ops), Machine({"x", "x"}), 4);
  EXPECT_EQ(grouped.group_of_op, (std::vector<GroupIndex>{0, 1, 2, 3, 0}));
  ASSERT_EQ(grouped.feedback_edges.size(), 1u);
  EXPECT_EQ(grouped.feedback_edges[0].from, 3);
  EXPECT_EQ(grouped.feedback_edges[0].to, 0);
}

TEST(Grouping, AnEdgeThatClosesNoCycleOrdersGroupsThoughItPointsBack) {
  // {a, c} has the earliest op, but c reads b and nobody reads {a, c}: b comes first.
  std::vector<Op> ops = {MakeOp("a", 5, {}), MakeOp("b", 5, {}), MakeOp("c", 5, {{1, 0}}), MakeOp("d", 5, {{1, 0}})};
  ops[0].group = ops[2].group = "ac";
  const GroupedGraph grouped = GroupOps(OpGraph("back", ops), Machine({"x", "x"}), 3);
  EXPECT_EQ(grouped.group_of_op, (std::vector<GroupIndex>{1, 0, 1, 2}));
  EXPECT_EQ(grouped.edges.size(), 2u);
  EXPECT_TRUE(grouped.feedback_edges.empty());
}

TEST(Grouping, NeverMergesWhatNoDeviceMayRunTogether) {
  std::vector<Op> ops = {MakeOp("a", 1, {}), MakeOp("b", 1, {{0, 0}}), MakeOp("c", 1, {{1, 0}})};
  ops[0].allowed = {"x"};
  ops[1].allowed = {"y"};
  const GroupedGraph grouped = GroupOps(OpGraph("kinds", ops), Machine({"x", "y"}), 1);
  EXPECT_EQ(grouped.num_groups, 2);
  EXPECT_EQ(grouped.allowed, (std::vector<uint8_t>{1, 0, 0, 1}));
}

TEST(Grouping, WhatCostsNothingAndChainsTakeNoDeviceFromOps) {
  std::vector<Op> ops = {MakeOp("in", 0, {}), MakeOp("mm", OpCost::ByKind({{"x", 1000}, {"y", 10}}), {{0, 0}}, {10}),
                         MakeOp("last", 5, {{1, 0}})};
  ops[0].allowed = ops[2].allowed = {"x"};
  const OpGraph graph("in", ops);
  const GroupedGraph grouped = GroupOps(graph, Machine({"x", "y"}), 128);
  EXPECT_EQ(grouped.num_groups, 3);
  EXPECT_EQ(grouped.allowed, (std::vector<uint8_t>{1, 0, 1, 1, 1, 0}));
  // Where groups have to be few, they are joined all the same.
  EXPECT_EQ(GroupOps(graph, Machine({"x", "y"}), 1).num_groups, 1);
}

TEST(Grouping, ColocatedOpsWithoutACommonDeviceAreRefused) {
  std::vector<Op> ops = {MakeOp("a", 1, {}), MakeOp("b", 1, {{0, 0}})};
  ops[0].allowed = {"x"};
  ops[1].allowed = {"y"};
  ops[0].group = ops[1].group = "both";
  EXPECT_THROW(GroupOps(OpGraph("kinds", ops), Machine({"x", "y"}), 8), Error);
}

TEST(Grouping, RandomGraphsStayAcyclicAndKeepTheirSums) {
  for (uint64_t seed = 0; seed < Trials(800); ++seed) {
    const OpGraph graph = RandomOps(seed, seed % 4 == 0 ? 400 : 60, seed % 3 == 0 ? 3.0 : 1.5);
    const Cluster cluster = Machine({"x", "y"});
    const auto max_groups = static_cast<int32_t>(1 + seed % 23);
    const GroupedGraph grouped = GroupOps(graph, cluster, max_groups);
    ASSERT_LE(grouped.num_groups, max_groups) << "seed " << seed;
    ASSERT_TRUE(QuotientIsAcyclic(graph, grouped)) << "seed " << seed;
    ASSERT_TRUE(grouped.feedback_edges.empty()) << "seed " << seed;  // No labels, so nothing points back.
    double cost = 0;
    int64_t bytes = 0;
    for (const Op& op : graph.ops()) {
      cost += (*op.cost.On("x") + *op.cost.On("y")) / 2;
      bytes += op.OutputBytes();
    }
    ASSERT_NEAR(std::accumulate(grouped.cost_us.begin(), grouped.cost_us.end(), 0.0), cost, 1e-6);
    ASSERT_EQ(std::accumulate(grouped.output_bytes.begin(), grouped.output_bytes.end(), int64_t{0}), bytes);
    const std::set<GroupIndex> used(grouped.group_of_op.begin(), grouped.group_of_op.end());
    ASSERT_EQ(used.size(), static_cast<size_t>(grouped.num_groups));
    ASSERT_EQ(GroupOps(graph, cluster, max_groups).group_of_op, grouped.group_of_op);  // Deterministic.
  }
}

TEST(Grouping, RandomLabelsAreHonoured) {
  for (uint64_t seed = 0; seed < Trials(300); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops = RandomOps(seed, 80, 2.0).ops();
    for (Op& op : ops) {
      if (rng.UniformInt(0, 3) == 0) op.group = StrCat("label", rng.UniformInt(0, 5));
    }
    const OpGraph graph("labelled", ops);
    const GroupedGraph grouped = GroupOps(graph, Machine({"x", "y"}), 10);
    ASSERT_LE(grouped.num_groups, 10) << "seed " << seed;
    // With 0, labels alone bring ops together.
    std::set<std::string> labels;
    int32_t unlabelled = 0;
    for (const Op& op : ops) {
      if (op.group.empty()) {
        ++unlabelled;
      } else {
        labels.insert(op.group);
      }
    }
    const GroupedGraph apart = GroupOps(graph, Machine({"x", "y"}), 0);
    ASSERT_EQ(apart.num_groups, unlabelled + static_cast<int32_t>(labels.size()));
    ASSERT_EQ(apart.group_of_op, GroupOpsBothWays(graph, Machine({"x", "y"}), {}).levels->Finest());
    std::map<std::string, GroupIndex> group_of_label;
    for (size_t o = 0; o < ops.size(); ++o) {
      if (ops[o].group.empty()) continue;
      ASSERT_EQ(group_of_label.try_emplace(ops[o].group, grouped.group_of_op[o]).first->second, grouped.group_of_op[o]);
    }
    for (const GroupEdge& edge : grouped.edges) ASSERT_LT(edge.from, edge.to);
    for (const GroupEdge& edge : grouped.feedback_edges) ASSERT_GT(edge.from, edge.to);
  }
}

TEST(Grouping, DenseRandomGraphsStayEven) {
  // Nearly every merge along an edge would make a cycle here.
  for (uint64_t seed = 0; seed < Trials(10); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops;
    for (int i = 0; i < 3000; ++i) {
      std::vector<OpInput> inputs;
      for (int64_t j = i == 0 ? 0 : rng.UniformInt(0, 4); j > 0; --j) {
        inputs.push_back({static_cast<OpIndex>(rng.UniformInt(0, i - 1)), 0});
      }
      ops.push_back(MakeOp(StrCat("o", i), rng.Uniform(1, 50), inputs, {rng.UniformInt(0, 100000)}));
    }
    const OpGraph graph("dense", ops);
    const GroupedGraph grouped = GroupOps(graph, Machine({"x", "x"}), 50);
    ASSERT_LE(grouped.num_groups, 50);
    ASSERT_TRUE(QuotientIsAcyclic(graph, grouped));
    const double mean = std::accumulate(grouped.cost_us.begin(), grouped.cost_us.end(), 0.0) / grouped.num_groups;
    ASSERT_LE(*std::max_element(grouped.cost_us.begin(), grouped.cost_us.end()), 4 * mean) << "seed " << seed;
  }
}

TEST(Grouping, EndsEarlyWithLegalGroups) {
  for (uint64_t seed = 0; seed < Trials(50); ++seed) {
    const OpGraph graph = RandomOps(seed, 200, 2.0);
    for (const int64_t until : {0, 1, 30, 300}) {
      int64_t asked = 0;
      const StopSignal stop([&] { return ++asked > until; });
      const GroupedGraph grouped = GroupOps(graph, Machine({"x", "y"}), 10, stop);
      ASSERT_LE(grouped.num_groups, 10);
      ASSERT_TRUE(QuotientIsAcyclic(graph, grouped));
      ASSERT_LE(asked, until + 100);
      asked = 0;
      const Groupings both = GroupOpsBothWays(graph, Machine({"x", "y"}), {.max_groups = 10, .fewest = 2}, stop);
      ASSERT_TRUE(QuotientIsAcyclic(graph, both.groups));
      ASSERT_GE(both.levels->All(stop).size(), 2);
      ASSERT_EQ(both.levels->Finest(), GroupOps(graph, Machine({"x", "y"}), 0).group_of_op);
    }
  }
}

TEST(Grouping, BothWaysGiveTheGroupsOfOneWay) {
  for (uint64_t seed = 0; seed < Trials(50); ++seed) {
    const OpGraph graph = RandomOps(seed, 200, 2.0);
    for (const int32_t most : {0, 7}) {
      const Groupings both = GroupOpsBothWays(graph, Machine({"x", "y"}), {.max_groups = most, .fewest = 2});
      ASSERT_EQ(both.groups.group_of_op, GroupOps(graph, Machine({"x", "y"}), most).group_of_op);
    }
  }
}

TEST(Grouping, CutsManyGroupsThatNobodyPlaces) {
  for (uint64_t seed = 0; seed < Trials(50); ++seed) {
    const OpGraph graph = RandomOps(seed, 200, 2.0);
    const Cluster cluster = Machine({"x", "y"});
    const Groupings merged = GroupOpsBothWays(graph, cluster, {.max_groups = 10, .most_to_merge = 200, .fewest = 2});
    const Groupings cut = GroupOpsBothWays(graph, cluster, {.max_groups = 10, .most_to_merge = 20, .fewest = 2});
    ASSERT_EQ(merged.groups.group_of_op, GroupOps(graph, cluster, 10).group_of_op);
    ASSERT_LE(cut.groups.num_groups, 10);
    ASSERT_TRUE(QuotientIsAcyclic(graph, cut.groups));
    ASSERT_EQ(cut.levels->All(), merged.levels->All());
  }
}

TEST(Grouping, TenThousandOps) {
  // Many steps of a recurrent cell: w_i is read in every step, and each step follows the one before.
  std::vector<Op> ops;
  constexpr int kNodes = 20;
  for (int i = 0; i < kNodes; ++i) ops.push_back(MakeOp(StrCat("w", i), 0, {}, {4000000}));
  for (int t = 0; t < 500; ++t) {
    for (int i = 0; i < kNodes; ++i) {
      std::vector<OpInput> inputs = {{i, 0}};
      if (t > 0) inputs.push_back({static_cast<OpIndex>(ops.size()) - kNodes, 0});
      if (i > 0) inputs.push_back({static_cast<OpIndex>(ops.size()) - 1, 0});
      ops.push_back(MakeOp(StrCat("t", t, "/", i), 20, inputs, {100000}));
    }
  }
  const OpGraph graph("unrolled", ops);
  const auto begin = std::chrono::steady_clock::now();
  const GroupedGraph grouped = GroupOps(graph, Machine({"x", "x"}), 128);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LE(grouped.num_groups, 128);
  EXPECT_TRUE(QuotientIsAcyclic(graph, grouped));
  const double mean = std::accumulate(grouped.cost_us.begin(), grouped.cost_us.end(), 0.0) / grouped.num_groups;
  EXPECT_LE(*std::max_element(grouped.cost_us.begin(), grouped.cost_us.end()), 6 * mean);  // No giant among them.
  std::printf("%d ops to %d groups in %.3f s\n", graph.num_ops(), grouped.num_groups, seconds);
}

}  // namespace
}  // namespace emplace
