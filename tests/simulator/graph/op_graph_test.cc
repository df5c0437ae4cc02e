#include "simulator/graph/op_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "common/error.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Op Named(const std::string& name, std::vector<OpInput> inputs = {}) {
  Op op;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs.push_back({.bytes = 1, .shape = {}, .dtype = ""});
  return op;
}

std::string OpsError(std::vector<Op> ops) {
  return BadInputOf([&] { const OpGraph graph("g", std::move(ops)); });
}

TEST(OpGraph, AnOpOutOfTopologicalOrderIsFine) {
  // c reads b reads a; the order of the list is c, b, a.
  const OpGraph graph("g", {Named("c", {{1, 0}}), Named("b", {{2, 0}}), Named("a")});
  EXPECT_EQ(graph.topological_order(), (std::vector<OpIndex>{2, 1, 0}));
}

// Its file would have no cost at all.
TEST(OpGraph, ACostOnNoKindIsRefused) {
  Op op = Named("a");
  op.cost = OpCost::ByKind({});
  EXPECT_EQ(OpsError({op}), "op 'a': cost_us has no device kind, expected a cost for at least one");
}

TEST(OpGraph, ConsumersAreAscendingWithoutRepeats) {
  // c reads a twice and waits for it once more.
  const OpGraph graph("g", {Named("a"), Named("b", {{0, 0}}), Named("c", {{0, 0}, {0, OpInput::kControl}, {0, 0}})});
  const auto row = graph.consumers().Row(0);
  EXPECT_EQ(std::vector<int32_t>(row.begin(), row.end()), (std::vector<int32_t>{1, 2}));
}

TEST(OpGraph, TopologicalOrderIsTheLeastOneAndConsumersMatchTheInputs) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraph(rng);
    // The least order, by definition: again and again the lowest op all of whose producers are done.
    std::set<OpIndex> done;
    std::vector<OpIndex> expected;
    while (expected.size() < graph.ops().size()) {
      for (OpIndex o = 0; o < graph.num_ops(); ++o) {
        const std::vector<OpInput>& inputs = graph.op(o).inputs;
        const bool ready = std::all_of(inputs.begin(), inputs.end(),
                                       [&](const OpInput& input) { return done.contains(input.producer); });
        if (done.contains(o) || !ready) continue;
        done.insert(o);
        expected.push_back(o);
        break;
      }
    }
    ASSERT_EQ(graph.topological_order(), expected) << "seed " << seed;
    for (OpIndex p = 0; p < graph.num_ops(); ++p) {
      std::vector<int32_t> readers;
      for (OpIndex c = 0; c < graph.num_ops(); ++c) {
        const std::vector<OpInput>& inputs = graph.op(c).inputs;
        if (std::any_of(inputs.begin(), inputs.end(), [&](const OpInput& input) { return input.producer == p; })) {
          readers.push_back(c);
        }
      }
      const auto row = graph.consumers().Row(p);
      ASSERT_EQ(std::vector<int32_t>(row.begin(), row.end()), readers) << "seed " << seed << " op " << p;
    }
  }
}

TEST(OpGraph, ACopyRepeatsAnOpThatIsNoCopy) {
  const auto copies = [](OpIndex of_b, OpIndex of_c) {
    std::vector<Op> ops = {Named("a"), Named("b"), Named("c")};
    ops[1].copy_of = of_b;
    ops[2].copy_of = of_c;
    return ops;
  };
  EXPECT_EQ(OpsError(copies(0, 0)), "");
  EXPECT_THAT(OpsError(copies(0, 1)), AllOf(HasSubstr("op 'c'"), HasSubstr("'b', which is a copy itself")));
  EXPECT_THAT(OpsError(copies(2, 0)), AllOf(HasSubstr("op 'b'"), HasSubstr("'c', which is a copy itself")));
  EXPECT_THAT(OpsError(copies(1, Op::kNoCopy)), AllOf(HasSubstr("op 'b'"), HasSubstr("names the op itself")));
  EXPECT_THAT(OpsError(copies(Op::kNoCopy, 3)), AllOf(HasSubstr("op 'c'"), HasSubstr("op index 3, expected 0..2")));
  EXPECT_THAT(OpsError(copies(-2, Op::kNoCopy)), HasSubstr("op index -2"));
}

TEST(OpGraph, ACycleIsSpelledOut) {
  // d is behind the cycle a -> b -> c -> a, and not on it.
  EXPECT_THAT(OpsError({Named("d", {{1, 0}}), Named("a", {{3, 0}}), Named("b", {{1, 0}}),
                        Named("c", {{2, OpInput::kControl}})}),
              AllOf(HasSubstr("cycle"), HasSubstr("'a' -> 'b' -> 'c' -> 'a'"), ::testing::Not(HasSubstr("'d'"))));
  EXPECT_THAT(OpsError({Named("x", {{0, 0}})}), HasSubstr("'x' -> 'x'"));
}

TEST(OpGraph, ALongCycleStaysOneReadableLine) {
  std::vector<Op> ops;
  for (int o = 0; o < 1000; ++o) ops.push_back(Named("op" + std::to_string(o), {{(o + 999) % 1000, 0}}));
  EXPECT_LT(OpsError(std::move(ops)).size(), 200u);
}

TEST(OpGraph, RefusesWhatNoGraphCanMeanAndNamesTheOp) {
  const double infinity = std::numeric_limits<double>::infinity();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const auto with = [](const auto& change) {
    Op op = Named("bad");
    change(op);
    return OpsError({Named("good"), std::move(op)});
  };
  EXPECT_THAT(OpsError({Named("twin"), Named("twin")}), HasSubstr("op 'twin'"));
  EXPECT_THAT(OpsError({Named("")}), HasSubstr("op 0"));
  EXPECT_THAT(OpsError({Named("^a")}), HasSubstr("op '^a'"));
  for (const std::string& message :
       {with([&](Op& op) { op.cost = OpCost::Everywhere(-1); }),
        with([&](Op& op) { op.cost = OpCost::Everywhere(infinity); }),
        with([&](Op& op) { op.cost = OpCost::Everywhere(std::nan("")); }), with([&](Op& op) {
          op.cost = OpCost::ByKind({{"x", 1}, {"y", infinity}});
        }),
        with([&](Op& op) { op.cost = OpCost::Everywhere(1e300); }), with([&](Op& op) { op.flops = infinity; }),
        with([&](Op& op) { op.param_bytes = -1; }), with([&](Op& op) { op.temp_bytes = -1; }),
        with([&](Op& op) { op.outputs[0].bytes = -1; }), with([&](Op& op) { op.outputs[0].bytes = most; }),
        with([&](Op& op) { op.param_bytes = op.temp_bytes = most / 2 + 1; }), with([&](Op& op) {
          op.inputs = {{2, 0}};
        }),
        with([&](Op& op) {
          op.inputs = {{-1, 0}};
        }),
        with([&](Op& op) {
          op.inputs = {{0, 1}};
        }),
        with([&](Op& op) {
          op.inputs = {{0, -2}};
        })}) {
    EXPECT_THAT(message, HasSubstr("op 'bad': "));
  }
}

TEST(Op, RunsWhereBothItsCostAndItsListAllow) {
  Op op = Named("a");
  EXPECT_TRUE(op.AllowedOn("anything"));
  op.cost = OpCost::ByKind({{"x", 1}, {"y", 2}});
  EXPECT_TRUE(op.AllowedOn("x"));
  EXPECT_FALSE(op.AllowedOn("z"));
  op.allowed = {"y", "z"};
  EXPECT_FALSE(op.AllowedOn("x"));
  EXPECT_TRUE(op.AllowedOn("y"));
  EXPECT_FALSE(op.AllowedOn("z"));  // Listed, but it has no cost there.
}

TEST(OpGraph, WhatAStepIsGivenIsNoParameter) {
  std::vector<Op> ops;
  for (const std::string type : {"emplace.parameter", "emplace.input", "emplace.constant", "aten.mm"}) {
    ops.push_back(Named(type));
    ops.back().type = type;
    ops.back().param_bytes = int64_t{1} << (4 * ops.size());
  }
  EXPECT_EQ(OpGraph("g", ops).ParameterBytes(), 0x10 + 0x10000);
}

}  // namespace
}  // namespace emplace
