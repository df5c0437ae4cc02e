#include "simulator/instances/op_pieces.h"

#include <gtest/gtest.h>

#include <numeric>

#include "simulator/instances/dag_ops.h"
#include "tests/support/make_op.h"

namespace emplace {
namespace {

double CostOf(const std::vector<Op>& ops) {
  return std::accumulate(ops.begin(), ops.end(), 0.0, [](double sum, const Op& op) { return sum + *op.cost.On(""); });
}

std::vector<Op> Drawn(Rng& rng, int32_t ops) {
  const auto generators = DagGenerators(InstancePart::kTrain);
  return DrawDagOps(rng, generators[static_cast<size_t>(rng.UniformInt(0, std::ssize(generators) - 1))], ops);
}

TEST(KeptOps, KeepsEdgesAndMovesCopiesToTheFirstKept) {
  // a -> b -> d; c, e and f are copies of a, of which a is left out.
  std::vector<Op> ops = {MakeOp("a", 1, {}),       MakeOp("b", 2, {{0, 0}}), MakeOp("c", 1, {}),
                         MakeOp("d", 4, {{1, 0}}), MakeOp("e", 1, {}),       MakeOp("f", 1, {{3, 0}, {2, 0}})};
  for (const size_t copy : {2u, 4u, 5u}) ops[copy].copy_of = 0;
  const std::vector<Op> kept = KeptOps(ops, {0, 1, 1, 1, 0, 1});
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept[0].name, "b");
  EXPECT_TRUE(kept[0].inputs.empty());
  EXPECT_EQ(kept[1].name, "c");
  EXPECT_EQ(kept[1].copy_of, Op::kNoCopy);
  EXPECT_EQ(kept[2].inputs.at(0).producer, 0);
  EXPECT_EQ(kept[3].copy_of, 1);
  EXPECT_EQ(kept[3].inputs.at(0).producer, 2);
  EXPECT_EQ(kept[3].inputs.at(1).producer, 1);
}

TEST(CutOut, HasSoManyOpsAndMakesAGraph) {
  Rng rng(1);
  for (int i = 0; i < 50; ++i) {
    const auto count = static_cast<int32_t>(rng.UniformInt(16, 200));
    const OpGraph piece("piece", CutOut(rng, Drawn(rng, 300), count));
    EXPECT_EQ(piece.num_ops(), count);
    EXPECT_GT(CostOf(piece.ops()), 0);
  }
  EXPECT_EQ(CutOut(rng, Drawn(rng, 30), 100).size(), 30u);
}

TEST(Contracted, KeepsAllWorkAndParameters) {
  Rng rng(2);
  for (int i = 0; i < 50; ++i) {
    const std::vector<Op> whole = Drawn(rng, 400);
    const auto count = static_cast<int32_t>(rng.UniformInt(50, 300));
    const OpGraph joined("joined", Contracted(rng, whole, count));
    EXPECT_GE(joined.num_ops(), count);
    EXPECT_LT(joined.num_ops(), 400);
    EXPECT_NEAR(CostOf(joined.ops()), CostOf(whole), 1e-6 * CostOf(whole));
    int64_t bytes = 0;
    for (const Op& op : whole) bytes += op.param_bytes;
    for (const Op& op : joined.ops()) bytes -= op.param_bytes;
    EXPECT_EQ(bytes, 0);
  }
}

// a -> b -> d and a -> c -> d: whatever is joined, what d reads of the others stays.
TEST(Contracted, LeavesOutWhatIsReadWithinAnOp) {
  const std::vector<Op> ops = {MakeOp("a", 1, {}, {10, 20}), MakeOp("b", 2, {{0, 0}}, {30}),
                               MakeOp("c", 3, {{0, 1}}, {40}), MakeOp("d", 4, {{1, 0}, {2, 0}}, {50})};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const OpGraph joined("joined", Contracted(rng, ops, 3));
    ASSERT_EQ(joined.num_ops(), 3);
    int64_t bytes = 0;
    for (const Op& op : joined.ops()) bytes += op.OutputBytes();
    EXPECT_TRUE(bytes == 150 - 10 || bytes == 150 - 20 || bytes == 150 - 30 || bytes == 150 - 40) << bytes;
  }
}

}  // namespace
}  // namespace emplace
