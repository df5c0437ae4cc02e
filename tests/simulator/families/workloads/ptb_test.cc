#include "simulator/families/workloads/ptb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "simulator/families/program/op_table.h"

namespace emplace {
namespace {

TEST(Ptb, SamplesStayInTheirRanges) {
  Rng rng(1);
  std::set<int64_t> batches;
  for (int i = 0; i < 500; ++i) {
    const PtbModel model = SamplePtb(rng, PtbRanges(/*small=*/false));
    ASSERT_EQ(model.parent.size(), 12u);
    ASSERT_GE(model.batch, 20);
    ASSERT_LE(model.batch, 64);
    ASSERT_GE(model.hidden, 256);
    ASSERT_LE(model.hidden, 1024);
    ASSERT_GE(model.steps, 20);
    ASSERT_LE(model.steps, 35);
    for (size_t n = 1; n < model.parent.size(); ++n) {
      ASSERT_GE(model.parent[n], 0);
      ASSERT_LT(model.parent[n], static_cast<int32_t>(n));
    }
    batches.insert(model.batch);
  }
  EXPECT_EQ(batches.size(), 45u);  // Every batch size from 20 to 64 comes up.
}

TEST(Ptb, ParentsAreDrawnByTheSquareOfTheirDistance) {
  // Node 3: weights exp(-9/6), exp(-4/6), exp(-1/6) for parents 0, 1, 2.
  const double weight[] = {std::exp(-9.0 / 6), std::exp(-4.0 / 6), std::exp(-1.0 / 6)};
  const double total = weight[0] + weight[1] + weight[2];
  Rng rng(2);
  constexpr int kDraws = 20000;
  int count[3] = {};
  for (int i = 0; i < kDraws; ++i) ++count[SamplePtb(rng, PtbRanges(/*small=*/true)).parent[3]];
  for (int p = 0; p < 3; ++p) {
    const double expected = weight[p] / total;
    // Five standard deviations of a binomial.
    EXPECT_NEAR(count[p] / double{kDraws}, expected, 5 * std::sqrt(expected * (1 - expected) / kDraws)) << p;
  }
}

TEST(Ptb, MatrixProductsFollowFromTheModel) {
  // One chain of three nodes, B = 4, H = 8, V = 50, 2 steps. Forward products a step: [4, 16] x [16, 16], two of
  // [4, 8] x [8, 16], and [4, 8] x [8, 50]; each has two gradients, but x_t and h of the first step: the words need
  // one, h0 needs none, and they share a product. So 3 times the forward FLOPs.
  PtbModel model{.parent = {-1, 0, 1},
                 .activation = {Activation::kTanh, Activation::kIdentity, Activation::kRelu},
                 .batch = 4,
                 .hidden = 8,
                 .steps = 2,
                 .vocabulary = 50};
  const TensorProgram program = BuildPtb(model);
  double flops = 0;
  for (const SymbolicNode& node : program.nodes()) {
    if (node.type == "aten.mm") flops += RuleOf(node.type).flops({program, node});
  }
  const double forward = 2 * (2.0 * 4 * 16 * 16 + 2 * 2.0 * 4 * 8 * 16 + 2.0 * 4 * 8 * 50);
  EXPECT_EQ(flops, 3 * forward);
}

TEST(Ptb, EveryParameterIsUpdatedOnce) {
  Rng rng(3);
  const TensorProgram program = BuildPtb(SamplePtb(rng, PtbRanges(/*small=*/true)));
  int parameters = 0;
  int updates = 0;
  for (const SymbolicNode& node : program.nodes()) {
    parameters += node.type == kParameterType ? 1 : 0;
    updates += node.type == "aten.add_" ? 1 : 0;
  }
  EXPECT_EQ(parameters, 1 + 8);
  EXPECT_EQ(updates, parameters);
}

}  // namespace
}  // namespace emplace
