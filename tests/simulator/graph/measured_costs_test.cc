#include "simulator/graph/measured_costs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/error.h"
#include "common/rng.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

constexpr char kHeader[] = "type,shapes,kind,us\n";

MeasuredCosts Table(const std::string& rows) { return MeasuredCosts::Parse(kHeader + rows, "t.csv"); }

std::string CostsError(const std::string& csv) {
  return BadInputOf([&] { MeasuredCosts::Parse(csv, "t.csv"); }, "t.csv:");
}

// An op `a` without inputs that makes a 2x3 tensor, a scalar and a tensor of unknown shape; `b` reads `inputs` of them.
OpGraph TwoOps(std::vector<OpInput> inputs, OpCost cost, std::vector<std::string> allowed = {}) {
  Op a;
  a.name = "a";
  a.type = "source";
  a.cost = OpCost::Everywhere(1);
  a.outputs = {{.bytes = 24, .shape = {{2, 3}}, .dtype = "f32"},
               {.bytes = 4, .shape = std::vector<int64_t>(), .dtype = "f32"},
               {.bytes = 8, .shape = std::nullopt, .dtype = ""}};
  Op b;
  b.name = "b";
  b.type = "aten.mm";
  b.cost = std::move(cost);
  b.inputs = std::move(inputs);
  b.allowed = std::move(allowed);
  return OpGraph("two", {a, b});
}

// What `b` costs on k80 under the table, when it reads these outputs of `a`.
std::optional<double> CostOfB(const std::string& rows, const std::vector<OpInput>& inputs) {
  return ApplyMeasuredCosts(TwoOps(inputs, OpCost::ByKind({{"k80", 9}})), Table(rows)).graph.op(1).cost.On("k80");
}

TEST(MeasuredCosts, ReadsColumnsInAnyOrder) {
  const MeasuredCosts table =
      MeasuredCosts::Parse("us,kind,shapes,type\n1.5,k80,20x1440;(),aten.mm\n2,cpu,,\"aten.mm\"\n", "t.csv");
  ASSERT_EQ(table.costs().size(), 2u);
  EXPECT_EQ(table.costs()[0].key, (CostKey{"aten.mm", "k80", InputShapes{{20, 1440}, {}}}));
  EXPECT_EQ(table.costs()[0].us, 1.5);
  EXPECT_EQ(table.costs()[1].key, (CostKey{"aten.mm", "cpu", std::nullopt}));
  EXPECT_EQ(table.costs()[1].lines, (std::vector<int32_t>{3}));
  EXPECT_EQ(table.kinds(), (std::set<std::string>{"cpu", "k80"}));
}

TEST(MeasuredCosts, ShapesReadBackAsTheyAreWritten) {
  for (const std::string text : {"", "()", "7", "0", "20x1440;1440x1440", "();();3x1x2"}) {
    EXPECT_EQ(ShapesToText(Table("t," + text + ",k,1\n").costs()[0].key.shapes), text);
  }
}

TEST(MeasuredCosts, TakesTheMedianOfEqualRows) {
  // 7, 1, 100 -> 7; with one more, 9: 1, 7, 9, 100 -> (7 + 9) / 2 = 8.
  const std::string odd = "t,,k,7\nt,,k,1\nt,,k,100\n";
  EXPECT_EQ(Table(odd).costs()[0].us, 7);
  EXPECT_EQ(Table(odd + "t,,k,9\n").costs()[0].us, 8);
  EXPECT_EQ(Table(odd).costs()[0].lines, (std::vector<int32_t>{2, 3, 4}));
}

TEST(MeasuredCosts, SaysWhereATableIsWrong) {
  const std::string shapes = "expected sizes like '20x1440;1440x1440' ('()' is a scalar, nothing any shapes)";
  EXPECT_EQ(CostsError("type,shapes,kind,ms\n"), "t.csv:1:18: unknown column 'ms', expected type, shapes, kind, us");
  EXPECT_EQ(CostsError("type,kind,us\n"), "t.csv:1:1: column 'shapes' is missing, expected type, shapes, kind, us");
  EXPECT_EQ(CostsError(kHeader), "t.csv:1:1: no row follows the header, expected at least one");
  EXPECT_EQ(CostsError(std::string(kHeader) + ",,k80,1\n"), "t.csv:2:1: type is '', expected a name");
  EXPECT_EQ(CostsError(std::string(kHeader) + "t,,,1\n"), "t.csv:2:4: kind is '', expected a name");
  for (const std::string bad : {"20x", "x", "20X3", "-1", "2x3;", "(2)", "1.5", "9223372036854775808", " 3"}) {
    EXPECT_EQ(CostsError(kHeader + ("t," + bad) + ",k,1\n"), "t.csv:2:3: shapes is '" + bad + "', " + shapes);
  }
  for (const std::string bad : {"", "-1", "nan", "inf", "1e999", "1us", " 1"}) {
    EXPECT_EQ(CostsError(kHeader + ("t,,k," + bad) + "\n"),
              "t.csv:2:6: us is '" + bad + "', expected a finite number of at least 0");
  }
  EXPECT_THAT(CostsError(std::string(kHeader) + "t,,k,9.3e18\n"),
              testing::HasSubstr("t.csv:2:6: us is '9.3e18', expected less than 2^63"));
}

TEST(MeasuredCosts, MatchesTheShapesOfDataInputsInOrder) {
  EXPECT_EQ(CostOfB("aten.mm,2x3;(),k80,5\n", {{0, 0}, {0, OpInput::kControl}, {0, 1}}), 5);
  EXPECT_EQ(CostOfB("aten.mm,();2x3,k80,5\n", {{0, 0}, {0, 1}}), 9);
  EXPECT_EQ(CostOfB("aten.mm,2x3,k80,5\n", {{0, 0}, {0, 1}}), 9);
  EXPECT_EQ(CostOfB("aten.mm,2x3,cpu,5\n", {{0, 0}}), 9);
  EXPECT_EQ(CostOfB("aten.add,2x3,k80,5\n", {{0, 0}}), 9);
}

TEST(MeasuredCosts, ExactShapesComeBeforeAnyShapes) {
  const std::string rows = "aten.mm,,k80,5\naten.mm,2x3,k80,6\n";
  EXPECT_EQ(CostOfB(rows, {{0, 0}}), 6);
  EXPECT_EQ(CostOfB(rows, {{0, 1}}), 5);
  EXPECT_EQ(CostOfB(rows, {}), 5);
}

TEST(MeasuredCosts, AnUnknownShapeMatchesOnlyRowsForAnyShapes) {
  const std::vector<OpInput> inputs = {{0, 0}, {0, 2}};
  EXPECT_EQ(CostOfB("aten.mm,2x3,k80,6\naten.mm,2x3;(),k80,7\n", inputs), 9);
  EXPECT_EQ(CostOfB("aten.mm,2x3,k80,6\naten.mm,,k80,5\n", inputs), 5);
}

TEST(MeasuredCosts, ACostByKindKeepsItsOtherKindsAndGainsMeasuredOnes) {
  const OpGraph graph = TwoOps({}, OpCost::ByKind({{"cpu", 40}, {"k80", 9}}));
  const OpGraph imported = ApplyMeasuredCosts(graph, Table("aten.mm,,k80,5\naten.mm,,v100,2\n")).graph;
  EXPECT_EQ(imported.op(1).cost.by_kind(), (std::map<std::string, double>{{"cpu", 40}, {"k80", 5}, {"v100", 2}}));
  EXPECT_EQ(imported.op(0).cost.by_kind(), graph.op(0).cost.by_kind());  // Nothing measured: as it was.
  EXPECT_TRUE(imported.op(0).cost.is_uniform());
}

TEST(MeasuredCosts, AnOpGainsNoKindThatItExcludes) {
  const OpGraph graph = TwoOps({}, OpCost::ByKind({{"k80", 9}}), {"k80", "cpu"});
  const MeasuredGraph imported = ApplyMeasuredCosts(graph, Table("aten.mm,,v100,2\naten.mm,,cpu,30\n"));
  EXPECT_EQ(imported.graph.op(1).cost.by_kind(), (std::map<std::string, double>{{"cpu", 30}, {"k80", 9}}));
  EXPECT_EQ(imported.used, (std::set<size_t>{1}));
}

TEST(MeasuredCosts, APlainNumberStaysForEveryOtherKnownKind) {
  std::vector<Op> ops = TwoOps({}, OpCost::Everywhere(9)).ops();
  ops[0].cost = OpCost::ByKind({{"tpu", 1}});
  const MeasuredCosts table = Table("aten.mm,,k80,5\nother,,v100,1\n");
  const OpGraph imported = ApplyMeasuredCosts(OpGraph("g", ops), table, {"cpu"}).graph;
  EXPECT_EQ(imported.op(1).cost.by_kind(),
            (std::map<std::string, double>{{"cpu", 9}, {"k80", 5}, {"tpu", 9}, {"v100", 9}}));
}

TEST(MeasuredCosts, CountsWhatIsMeasured) {
  const MeasuredGraph imported = ApplyMeasuredCosts(TwoOps({}, OpCost::ByKind({{"cpu", 40}, {"k80", 9}})),
                                                    Table("aten.mm,,k80,5\nunheard,,v100,2\nunheard,,v100,3\n"));
  ASSERT_EQ(imported.coverage.size(), 2u);
  const KindCoverage& k80 = imported.coverage[0];
  EXPECT_EQ(k80.kind, "k80");
  EXPECT_EQ(k80.measured_ops, 1);
  EXPECT_EQ(k80.runnable_ops, 2);
  EXPECT_EQ(k80.measured_us, 5);
  EXPECT_EQ(k80.runnable_us, 5 + 1);  // `a` costs 1 everywhere.
  EXPECT_EQ(k80.unmeasured.at("source").us, 1);
  const KindCoverage& v100 = imported.coverage[1];
  EXPECT_EQ(v100.measured_ops, 0);
  EXPECT_EQ(v100.runnable_ops, 1);  // `b` has no cost there.
  EXPECT_EQ(imported.used, (std::set<size_t>{0}));
}

TEST(MeasuredCosts, RefusesCostsThatAddUpToTooMuch) {
  EXPECT_THROW(ApplyMeasuredCosts(TwoOps({}, OpCost::Everywhere(1)), Table("aten.mm,,k80,1e19\n")), Error);
}

TEST(MeasuredCosts, ChangesCostsAloneAndAllOfThem) {
  // Random graphs have the one op type test.op and the kinds x and y.
  const MeasuredCosts table = Table("test.op,,x,7\n");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraph(rng);
    const MeasuredGraph imported = ApplyMeasuredCosts(graph, table, {"y"});
    EXPECT_EQ(imported.graph.topological_order(), graph.topological_order());
    EXPECT_EQ(imported.coverage[0].measured_ops, graph.num_ops());
    for (int32_t o = 0; o < graph.num_ops(); ++o) {
      EXPECT_EQ(imported.graph.op(o).cost.On("x"), 7);
      EXPECT_EQ(imported.graph.op(o).cost.On("y"), graph.op(o).cost.On("y"));
      EXPECT_EQ(imported.graph.op(o).OutputBytes(), graph.op(o).OutputBytes());
    }
  }
}

}  // namespace
}  // namespace emplace
