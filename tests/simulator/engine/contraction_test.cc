#include "simulator/engine/contraction.h"

#include <gtest/gtest.h>

#include <numeric>

#include "simulator/engine/simulator.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

SimGraph HandGraph(const std::vector<Op>& ops, int devices = 2) {
  return SimGraph::Compile(OpGraph("hand", ops), HandCluster(devices));
}

TEST(Contraction, MakesOneOpOfAGroup) {
  const Contraction contraction = Contract(HandGraph(Diamond()), std::vector<GroupIndex>{0, 1, 1, 2});
  const SimGraph& graph = contraction.graph;
  ASSERT_EQ(contraction.op_of, (std::vector<OpIndex>{0, 1, 1, 2}));
  EXPECT_EQ(graph.cost_us, (std::vector<double>{10, 10, 50, 50, 10, 10}));
  EXPECT_EQ(graph.tensor_bytes, (std::vector<int64_t>{100, 200}));  // Both outputs of b and c go to d.
  EXPECT_EQ(graph.num_inputs, (std::vector<int32_t>{0, 1, 1}));
  // 10 us, 100 bytes in 10 us, 50 us, 200 bytes in 20 us, 10 us.
  EXPECT_EQ(Simulator(graph).Makespan(Placement{0, 1, 0}), 100);
}

TEST(Contraction, CountsThePausesBetweenTensorsThatItJoins) {
  Cluster cluster = HandCluster(2);
  cluster.transfer_overhead_us = 3;
  const SimGraph whole = SimGraph::Compile(OpGraph("hand", Diamond()), cluster);
  const SimGraph graph = Contract(whole, std::vector<GroupIndex>{0, 0, 0, 1}).graph;
  EXPECT_EQ(graph.tensor_bytes, (std::vector<int64_t>{230}));  // 3 us are worth 30 bytes.
}

TEST(Contraction, SplitsAGroupThatWaitsForItself) {
  // a -> b -> c, with a and c together.
  const SimGraph whole = HandGraph({HandOp("a", 10, {}), HandOp("b", 20, {0}), HandOp("c", 30, {1})});
  const Contraction contraction = Contract(whole, std::vector<GroupIndex>{0, 1, 0});
  EXPECT_EQ(contraction.graph.num_ops, 3);
  EXPECT_EQ(Simulator(contraction.graph).Makespan(Placement{0, 0, 0}), 60);
}

TEST(Contraction, LeavesFreeSourcesByThemselves) {
  // A parameter and its first reader are together. The second reader, elsewhere, gets it at once, and so ends before
  // the first one does.
  const SimGraph whole = HandGraph({HandOp("p", 0, {}), HandOp("a", 50, {0}), HandOp("b", 20, {0})});
  const Contraction contraction = Contract(whole, std::vector<GroupIndex>{0, 0, 1});
  EXPECT_EQ(contraction.graph.num_ops, 3);
  Placement placement(3);
  placement[static_cast<size_t>(contraction.op_of[2])] = 1;
  EXPECT_EQ(Simulator(contraction.graph).Makespan(placement), 50);
}

TEST(Contraction, CountsWhatIsHeldForOthers) {
  std::vector<Op> ops = Diamond();
  ops[0].param_bytes = 7;
  ops[1].param_bytes = 5;
  ops[2].temp_bytes = 30;
  const SimGraph graph = Contract(HandGraph(ops), std::vector<GroupIndex>{0, 0, 1, 1}).graph;
  EXPECT_EQ(graph.param_bytes, (std::vector<int64_t>{12, 0}));
  // a's and b's; c's goes no further, and d's is what the step leaves.
  EXPECT_EQ(graph.output_bytes, (std::vector<int64_t>{200, 100}));
  EXPECT_EQ(graph.staying_bytes, (std::vector<int64_t>{0, 100}));
  EXPECT_EQ(graph.tensor_held_bytes, (std::vector<int64_t>{200}));
  EXPECT_EQ(graph.temp_bytes, (std::vector<int64_t>{0, 130}));
}

// Any groups, also such as make cycles.
TEST(Contraction, IsAGraphThatTakesAsLongOnOneDevice) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    RandomTaskSource source =
        RandomSource(rng, {.max_ops = 80, .parameters = 5, .link_model = static_cast<LinkModel>(seed % 3)});
    const SimGraph whole = SimGraph::Compile(source.graph, source.cluster);
    std::vector<GroupIndex> groups;
    for (OpIndex op = 0; op < whole.num_ops; ++op)
      groups.push_back(static_cast<GroupIndex>(rng.UniformInt(0, whole.num_ops / 4)));
    const Contraction contraction = Contract(whole, groups);
    EXPECT_NO_THROW(contraction.graph.Validate()) << "seed " << seed;
    const auto ops = static_cast<size_t>(contraction.graph.num_ops);
    const double us = Simulator(contraction.graph).Makespan(Placement(ops, 0));
    const double whole_us = Simulator(whole).Makespan(Placement(groups.size(), 0));
    // What ends last may cost nothing in one of them, and then comes after the overhead.
    EXPECT_NEAR(us, whole_us, whole.op_overhead_us + 1e-2 * static_cast<double>(ops)) << "seed " << seed;
    EXPECT_EQ(std::accumulate(contraction.graph.param_bytes.begin(), contraction.graph.param_bytes.end(), int64_t{0}),
              std::accumulate(whole.param_bytes.begin(), whole.param_bytes.end(), int64_t{0}));
  }
}

}  // namespace
}  // namespace emplace
