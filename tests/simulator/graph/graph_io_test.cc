#include "simulator/graph/graph_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A graph file with these ops.
std::string File(const std::string& ops) {
  return R"({"format": "emplace.graph/1", "name": "g", "ops": [)" + ops + "]}";
}

std::string GraphError(const std::string& json) {
  return BadInputOf([&] { ParseGraph(json, "g.json"); }, "g.json:");
}

TEST(GraphIo, ReadsEveryFieldOfTheFormat) {
  const OpGraph graph =
      ParseGraph(R"({"format": "emplace.graph/1", "name": "tiny", "meta": {"made": "by hand"}, "ops": [
    {"name": "a", "type": "aten.mm", "cost_us": 12.5, "inputs": [],
     "outputs": [{"bytes": 4096, "shape": [32, 32], "dtype": "f32"}, {"bytes": 1.5e3}]},
    {"name": "b", "type": "aten.relu", "cost_us": {"k80": 3, "cpu": 40}, "inputs": ["a:1", "^a", "a"],
     "outputs": [{"bytes": 5, "resident": true}, {"bytes": 3, "resident": false}], "flops": 1e9, "param_bytes": 7, "temp_bytes": 8, "group": "grp", "allowed": ["k80"],
     "copy_of": "a", "attrs": {"k": [1, {"x": null}]},
     "call": {"op": "aten.relu.default", "args": [{"in": 0}]}}]})",
                 "g.json");
  EXPECT_EQ(graph.name(), "tiny");
  EXPECT_EQ(graph.meta_json(), R"({"made":"by hand"})");
  EXPECT_EQ(ParseGraph(GraphToJson(graph), "again").meta_json(), graph.meta_json());
  const Op& a = graph.op(0);
  EXPECT_EQ(a.type, "aten.mm");
  EXPECT_EQ(a.cost.On("whatever"), 12.5);
  EXPECT_EQ(a.outputs[0].shape, (std::vector<int64_t>{32, 32}));
  EXPECT_EQ(a.outputs[0].dtype, "f32");
  EXPECT_EQ(a.OutputBytes(), 4096 + 1500);
  const Op& b = graph.op(1);
  EXPECT_EQ(b.cost.On("cpu"), 40);
  EXPECT_EQ(b.cost.On("tpu"), std::nullopt);
  ASSERT_EQ(b.inputs.size(), 3u);
  EXPECT_EQ(b.inputs[0].output, 1);
  EXPECT_EQ(b.inputs[1].output, OpInput::kControl);
  EXPECT_EQ(b.inputs[2].output, 0);  // No index means output 0.
  EXPECT_EQ(b.flops, 1e9);
  EXPECT_EQ(b.param_bytes, 7);
  EXPECT_EQ(a.ResidentOutputBytes(), 0);
  EXPECT_EQ(b.ResidentOutputBytes(), 5);
  EXPECT_EQ(b.AllBytes(), 7 + 8 + 3);
  EXPECT_EQ(b.temp_bytes, 8);
  EXPECT_EQ(b.group, "grp");
  EXPECT_EQ(b.allowed, (std::vector<std::string>{"k80"}));
  EXPECT_EQ(a.copy_of, Op::kNoCopy);
  EXPECT_EQ(b.copy_of, 0);
  EXPECT_EQ(b.attrs_json, R"({"k":[1,{"x":null}]})");
  EXPECT_EQ(b.call_json, R"({"args":[{"in":0}],"op":"aten.relu.default"})");
}

TEST(GraphIo, AScalarIsNotATensorOfUnknownShape) {
  const std::string text = File(R"({"name": "a", "cost_us": 1, "outputs": [{"bytes": 4, "shape": []}, {"bytes": 4}]})");
  for (const OpGraph& graph :
       {ParseGraph(text, "g.json"), ParseGraph(GraphToJson(ParseGraph(text, "g.json")), "again")}) {
    EXPECT_EQ(graph.op(0).outputs[0].shape, std::vector<int64_t>());
    EXPECT_EQ(graph.op(0).outputs[1].shape, std::nullopt);
  }
}

TEST(GraphIo, ProducersMayHaveColonsInTheirNames) {
  const OpGraph graph = ParseGraph(File(R"(
    {"name": "scope:x", "cost_us": 1, "outputs": [{"bytes": 1}, {"bytes": 2}]},
    {"name": "scope:7", "cost_us": 1, "outputs": [{"bytes": 3}]},
    {"name": "r", "cost_us": 1, "inputs": ["scope:x:1", "scope:x", "scope:7", "^scope:7"]})"),
                                   "g.json");
  const std::vector<OpInput>& inputs = graph.op(2).inputs;
  ASSERT_EQ(inputs.size(), 4u);
  EXPECT_EQ(inputs[0].producer, 0);
  EXPECT_EQ(inputs[0].output, 1);
  EXPECT_EQ(inputs[1].producer, 0);
  EXPECT_EQ(inputs[1].output, 0);
  EXPECT_EQ(inputs[2].producer, 1);  // There is no op "scope".
  EXPECT_EQ(inputs[2].output, 0);
  EXPECT_EQ(inputs[3].producer, 1);
  EXPECT_EQ(inputs[3].output, OpInput::kControl);
}

// A random graph in which some ops of odd index repeat an op of even index.
OpGraph RandomGraphWithCopies(Rng& rng) {
  std::vector<Op> ops = RandomGraph(rng).ops();
  for (size_t o = 1; o < ops.size(); o += 2) {
    if (rng.UniformInt(0, 1) == 0) continue;
    ops[o].copy_of = static_cast<OpIndex>(2 * rng.UniformInt(0, static_cast<int64_t>(ops.size() - 1) / 2));
  }
  return OpGraph("copies", std::move(ops));
}

TEST(GraphIo, KeysMayComeInAnyOrderAndWithEscapes) {
  const OpGraph graph = ParseGraph(
      R"({"ops": [{"inputs": ["caf\u00e9:0"], "cost_us": 1, "name": "b"},
          {"outputs": [{"bytes": 1}], "cost_us": {"\u0062": 2, "a": 1}, "n\u0061me": "café"}],
          "meta": {}, "name": "\"g\"", "format": "emplace.graph/1"})",
      "g.json");
  EXPECT_EQ(graph.name(), "\"g\"");
  EXPECT_EQ(graph.meta_json(), "{}");
  EXPECT_EQ(graph.op(1).name, "café");
  EXPECT_EQ(graph.op(1).cost.On("b"), 2);
  EXPECT_EQ(graph.op(0).inputs.at(0).producer, 1);
}

TEST(GraphIo, AttrsAreCompactWithTheirKeysInOrder) {
  const std::string attrs =
      R"({"z": [ ], "b": {"y": 1.50, "x": -0}, "a": "\u00e9\/\n", "\"": [true, null, {}], "n": 1e3})";
  const OpGraph graph = ParseGraph(File(R"({"name": "a", "cost_us": 1, "attrs": )" + attrs + "}"), "g.json");
  EXPECT_EQ(graph.op(0).attrs_json, R"({"\"":[true,null,{}],"a":"é/\n","b":{"x":0,"y":1.5},"n":1000.0,"z":[]})");
}

TEST(GraphIo, WhatIsWrittenReadsBackTheSameByteForByte) {
  for (uint64_t seed = 0; seed < Trials(300); ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraphWithCopies(rng);
    const std::string json = GraphToJson(graph);
    const OpGraph again = ParseGraph(json, "g.json");
    ASSERT_EQ(GraphToJson(again), json) << "seed " << seed;
    ASSERT_EQ(again.num_ops(), graph.num_ops());
    for (OpIndex o = 0; o < graph.num_ops(); ++o) {
      // Exactly: doubles are written with as many digits as it takes.
      ASSERT_EQ(again.op(o).cost.On("x"), graph.op(o).cost.On("x"));
      ASSERT_EQ(again.op(o).OutputBytes(), graph.op(o).OutputBytes());
      ASSERT_EQ(again.op(o).ResidentOutputBytes(), graph.op(o).ResidentOutputBytes());
      ASSERT_EQ(again.op(o).copy_of, graph.op(o).copy_of);
      ASSERT_EQ(again.op(o).inputs.size(), graph.op(o).inputs.size());
      for (size_t i = 0; i < graph.op(o).inputs.size(); ++i) {
        ASSERT_EQ(again.op(o).inputs[i].producer, graph.op(o).inputs[i].producer);
        ASSERT_EQ(again.op(o).inputs[i].output, graph.op(o).inputs[i].output);
      }
    }
  }
}

TEST(GraphIo, OpsAreTheTextOfTheirDocument) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops = RandomGraphWithCopies(rng).ops();
    for (Op& op : ops) {
      const std::array<std::string, 6> odd = {"", "\"", "\\", "\n\x01\x7f", "é", "a: ^b"};
      op.name += odd[static_cast<size_t>(rng.UniformInt(0, 5))];
      op.type = odd[static_cast<size_t>(rng.UniformInt(0, 5))];
      op.group = odd[static_cast<size_t>(rng.UniformInt(0, 5))];
      op.cost = OpCost::ByKind(
          {{"x" + op.type, std::ldexp(rng.Uniform(), static_cast<int>(rng.UniformInt(-60, 50)))}, {"y", 1e15}});
      if (op.copy_of == Op::kNoCopy) op.attrs_json = R"({"a":[1,2.5,"é"]})";
    }
    const std::string json = GraphToJson(OpGraph("odd", std::move(ops)));
    std::vector<std::string> lines = Split(json, '\n');
    ASSERT_GT(lines.size(), 2U);
    for (size_t i = 1; lines[i] != "]}"; ++i) {
      if (lines[i].ends_with(',')) lines[i].pop_back();
      ASSERT_EQ(nlohmann::ordered_json::parse(lines[i]).dump(), lines[i]) << "seed " << seed;
    }
  }
}

TEST(GraphIo, CompressedFilesAreReadToo) {
  Rng rng(1);
  const std::string json = GraphToJson(RandomGraphWithCopies(rng));
  ASSERT_NE(json.find("copy_of"), std::string::npos);
  const auto folder = std::filesystem::temp_directory_path() / StrCat("graph_io_test.", getpid());
  std::filesystem::create_directories(folder);
  WriteFileAtomically(folder / "g.graph.json", json);
  WriteFileAtomically(folder / "g.graph.json.zst", CompressZstd(json));
  EXPECT_EQ(GraphToJson(LoadGraph(folder / "g.graph.json")), json);
  EXPECT_EQ(GraphToJson(LoadGraph(folder / "g.graph.json.zst")), json);
  WriteFileAtomically(folder / "bad.graph.json.zst", CompressZstd(json).substr(0, 20));
  EXPECT_THROW(LoadGraph(folder / "bad.graph.json.zst"), Error);
  EXPECT_THROW(LoadGraph(folder / "missing.graph.json"), Error);
  std::filesystem::remove_all(folder);
}

TEST(GraphIo, BrokenJsonSaysLineColumnAndOp) {
  EXPECT_THAT(GraphError("{\"format\": \"emplace.graph/1\",\n \"ops\": [}"), StartsWith("g.json:2:10: not valid JSON"));
  EXPECT_THAT(GraphError(""), StartsWith("g.json:1:1: "));
  EXPECT_THAT(GraphError(File("{\"name\": \"a\", \"cost_us\": 1},\n{\"name\": \"b\", \"cost_us\": NaN}")),
              StartsWith("g.json:2:26: in op 'b': not valid JSON"));
  EXPECT_THAT(GraphError(File("\n{\"name\": \"b\", \"cost_us\": 1e999}")),
              StartsWith("g.json:2:26: in op 'b': not valid JSON"));
  EXPECT_THAT(GraphError(File("{\"cost_us\": Infinity}")), HasSubstr("in op 0: "));
}

TEST(GraphIo, KeysThatAnObjectHasTwiceAreRefusedEverywhere) {
  EXPECT_THAT(GraphError(File(R"({"name": "a", "cost_us": 1, "cost_us": 2})")),
              HasSubstr("key \"cost_us\" is given twice"));
  EXPECT_THAT(GraphError(File(R"({"name": "a", "attrs": {"x": [{"k": 1, "l": 2, "\u006b": 3}]}})")),
              StartsWith("g.json:1:99: in op 'a': key \"k\" is given twice"));
  EXPECT_THAT(GraphError(R"({"ops": [], "ops": []})"), HasSubstr("key \"ops\" is given twice"));
}

// However far the ops have been read by then.
TEST(GraphIo, WhatIsSaidFirst) {
  const std::string bad_op = R"({"name": "bad", "cost_us": -1})";
  const std::string good_op = R"({"name": "good", "cost_us": 1})";
  const std::string bad_input = R"({"name": "reader", "cost_us": 1, "inputs": ["nobody", 3]})";
  // That the file is no JSON, or of another format.
  EXPECT_THAT(GraphError(File(bad_op + ", {")), HasSubstr("not valid JSON"));
  EXPECT_THAT(GraphError(R"({"ops": [)" + bad_op + R"(], "format": "x"})"), HasSubstr("format is 'x'"));
  EXPECT_THAT(GraphError(R"({"format": "emplace.graph/1", "ops": [)" + bad_op + R"(], "nodes": 1})"),
              HasSubstr("unknown key 'nodes'"));
  // Of what is wrong with ops, the first; what they read comes after all else.
  EXPECT_THAT(GraphError(File(good_op + "," + bad_op + ",{}")), HasSubstr("op 'bad': cost_us is -1"));
  EXPECT_THAT(GraphError(File(bad_input + "," + bad_op)), HasSubstr("op 'bad': cost_us is -1"));
  EXPECT_THAT(GraphError(File(bad_input + "," + good_op + "," + good_op)),
              HasSubstr("the name is used twice, expected another"));
  EXPECT_THAT(GraphError(File(bad_input)), HasSubstr("there is no op 'nobody'"));
  EXPECT_THAT(GraphError(File(R"({"name": "a", "cost_us": {"y": -1, "x": -2}})")), HasSubstr("cost_us of 'x' is -2"));
  EXPECT_THAT(GraphError(File(R"({"name": "a", "cost_us": 1, "y": 1, "x": 1})")), HasSubstr("unknown key 'x'"));
}

TEST(GraphIo, WhatIsWrongWithAnOpNamesIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("cost_us": 1, "cost": 2)", "unknown key 'cost'"},
      {R"("cost": 2)", "unknown key 'cost'"},
      {R"("type": "x")", "'cost_us' is missing, expected a number, or an object"},
      {R"("cost_us": "1")", "cost_us is \"1\", expected a number"},
      {R"("cost_us": -0.5)", "cost_us is -0.5"},
      {R"("cost_us": {})", "cost_us is an empty map"},
      {R"("cost_us": {"k80": [1]})", "cost_us of 'k80' is [1]"},
      {R"("cost_us": {"k80": -1})", "cost_us of 'k80' is -1"},
      {R"("cost_us": 1e300)", "add up to 2^63"},
      {R"("cost_us": 1, "type": 5)", "type is 5"},
      {R"("cost_us": 1, "inputs": "a:0")", "inputs is \"a:0\", expected a list"},
      {R"("cost_us": 1, "inputs": [3])", "input is 3"},
      {R"("cost_us": 1, "inputs": ["nobody:0"])", "there is no op 'nobody', expected the name of an op of this graph"},
      {R"("cost_us": 1, "inputs": ["nobody"])", "there is no op 'nobody'"},
      {R"("cost_us": 1, "inputs": [""])", "there is no op ''"},
      {R"("cost_us": 1, "inputs": ["^"])", "there is no op ''"},
      {R"("cost_us": 1, "inputs": ["^nobody"])", "there is no op 'nobody'"},
      {R"("cost_us": 1, "inputs": ["first:1"])", "reads output 1 of 'first', which has 1, expected 0..0"},
      {R"("cost_us": 1, "inputs": ["copy:0"])", "reads output 0 of 'copy', which has 0, expected an op with outputs"},
      {R"("cost_us": 1, "inputs": ["first:-1"])", "'-1' is no output index, expected a whole number from 0"},
      {R"("cost_us": 1, "inputs": ["first:4294967296"])", "'4294967296' is no output index"},
      {R"("cost_us": 1, "inputs": ["bad:0"], "outputs": [{"bytes": 1}])", "cycle"},
      {R"("cost_us": 1, "outputs": 5)", "outputs is 5"},
      {R"("cost_us": 1, "outputs": [{"bytes": 1, "resident": 1}])", "output 0 resident is 1, expected true or false"},
      {R"("cost_us": 1, "param_bytes": 3, "outputs": [{"bytes": 4, "resident": true}])",
       "its resident outputs have 4 bytes, expected at most its param_bytes, 3"},
      {R"("cost_us": 1, "outputs": [5])", "output 0 is 5"},
      {R"("cost_us": 1, "outputs": [{}])", "output 0: 'bytes' is missing, expected a whole number"},
      {R"("cost_us": 1, "outputs": [{"bytes": 1.5}])", "output 0 bytes is 1.5"},
      {R"("cost_us": 1, "outputs": [{"bytes": -1}])", "output 0 bytes is -1"},
      {R"("cost_us": 1, "outputs": [{"bytes": 9223372036854775808}])", "expected less than 2^63"},
      {R"("cost_us": 1, "outputs": [{"bytes": 9223372036854775807}])", "add up to 2^63"},
      {R"("cost_us": 1, "outputs": [{"bytes": 1, "size": 2}])", "unknown key 'size'"},
      {R"("cost_us": 1, "outputs": [{"bytes": 1, "shape": [-1]}])", "shape is -1"},
      {R"("cost_us": 1, "param_bytes": null)", "param_bytes is null"},
      {R"("cost_us": 1, "allowed": [])", "allowed is empty"},
      {R"("cost_us": 1, "attrs": [])", "attrs is []"},
      {R"("cost_us": 1, "call": "aten.mm")", "call is \"aten.mm\""},
      {R"("cost_us": 1, "copy_of": 0)", "copy_of is 0, expected a string"},
      {R"("cost_us": 1, "copy_of": "nobody")", "copy_of: there is no op 'nobody'"},
      {R"("cost_us": 1, "copy_of": "bad")", "copy_of names the op itself"},
      {R"("cost_us": 1, "copy_of": "copy")", "copy_of is 'copy', which is a copy itself"},
  };
  for (const auto& [fields, expected] : cases) {
    const std::string message = GraphError(File(R"({"name": "first", "cost_us": 1, "outputs": [{"bytes": 1}]},
                {"name": "copy", "cost_us": 1, "copy_of": "first"}, {"name": "bad", )" +
                                                fields + "}"));
    EXPECT_THAT(message, AllOf(HasSubstr("'bad'"), HasSubstr(expected))) << fields;
  }
  EXPECT_THAT(GraphError(File(R"({"name": "a", "cost_us": 1}, {"name": "a", "cost_us": 1})")), HasSubstr("op 'a'"));
  EXPECT_THAT(GraphError(File(R"({"name": "a", "cost_us": 1}, {"cost_us": 1})")),
              HasSubstr("op 1: 'name' is missing, expected a string"));
  EXPECT_THAT(GraphError(File("[]")), HasSubstr("op 0 is []"));
}

TEST(GraphIo, WhatIsWrongWithTheFileIsSaid) {
  EXPECT_THAT(GraphError("[]"), HasSubstr("expected an object with 'emplace.graph/1'"));
  EXPECT_THAT(GraphError(R"({"ops": []})"), HasSubstr("'format' is missing, expected 'emplace.graph/1'"));
  EXPECT_THAT(GraphError(R"({"format": "emplace.graph/2", "ops": []})"), HasSubstr("expected 'emplace.graph/1'"));
  EXPECT_THAT(GraphError(R"({"format": "emplace.graph/1"})"), HasSubstr("'ops' is missing, expected a list"));
  EXPECT_THAT(GraphError(R"({"format": "emplace.graph/1", "ops": {}})"), HasSubstr("ops is {}, expected a list"));
  EXPECT_THAT(GraphError(R"({"format": "emplace.graph/1", "nodes": [], "ops": []})"), HasSubstr("unknown key 'nodes'"));
  EXPECT_THAT(GraphError(R"({"format": "emplace.graph/1", "meta": 3, "ops": []})"),
              HasSubstr("meta is 3, expected an object"));
}

TEST(GraphIo, DeepNestingIsAnErrorAndNotACrash) {
  EXPECT_THAT(GraphError(std::string(1000000, '[')), HasSubstr("nests deeper"));
  std::string deep =
      File(R"({"name": "a", "cost_us": 1, "attrs": )" + std::string(100000, '[') + std::string(100000, ']') + "}");
  EXPECT_THAT(GraphError(deep), HasSubstr("nests deeper"));
  // The root, the ops, the op and attrs are four of 200 levels.
  const auto with_lists = [](size_t levels) {
    return File(R"({"name": "a", "cost_us": 1, "attrs": {"k": )" + std::string(levels, '[') + std::string(levels, ']') +
                "}}");
  };
  EXPECT_EQ(ParseGraph(with_lists(196), "g.json").op(0).attrs_json.size(), 6 + 2 * 196);
  EXPECT_THAT(GraphError(with_lists(197)), HasSubstr("in op 'a': not valid JSON: nests deeper than 200 levels"));
}

// Cut anywhere, or with any byte changed, a file is read or refused with one line; nothing else happens.
TEST(GraphIo, DamagedFilesAreReadOrRefused) {
  Rng rng(3);
  const RandomGraphOptions options{.max_ops = 12};
  for (int round = 0; round < 20; ++round) {
    const std::string json = GraphToJson(RandomGraph(rng, options));
    for (size_t length = 0; length + 3 < json.size(); length += 7) GraphError(json.substr(0, length));
    for (uint64_t i = 0; i < Trials(300); ++i) {
      std::string damaged = json;
      damaged[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(json.size()) - 1))] =
          static_cast<char>(rng.UniformInt(0, 255));
      GraphError(damaged);
    }
  }
}

}  // namespace
}  // namespace emplace
