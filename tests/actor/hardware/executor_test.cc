#include "actor/hardware/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <span>

#include "actor/hardware/program/step_program.h"
#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/device_order.h"
#include "simulator/graph/graph_io.h"
#include "tests/actor/hardware/grouped_placement.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

Cluster Cpus(int32_t count) {
  Cluster cluster{.devices = {}, .op_overhead_us = 1, .bandwidth_bytes_per_us = 1000};
  for (int32_t i = 0; i < count; ++i) cluster.devices.push_back({StrCat("cpu:", i), "cpu", int64_t{1} << 40});
  return cluster;
}

OpGraph Graph(const std::string& ops) {
  return ParseGraph(R"({"format": "emplace.graph/1", "name": "g", "ops": [)" + ops + "]}", "g.json");
}

std::vector<float> Floats(const std::vector<std::byte>& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

constexpr char kInput[] = R"({"name": "x", "type": "emplace.input", "cost_us": 0, "attrs": {"name": "x"},
  "outputs": [{"bytes": 16, "shape": [2, 2], "dtype": "f32"}]})";

std::string OpWith(const std::string& call, const std::string& shape = "[2, 2]", const std::string& name = "y") {
  return StrCat(R"({"name": ")", name, R"(", "cost_us": 1, "inputs": ["x:0"], "outputs": [{"bytes": 16, "shape": )",
                shape, R"(, "dtype": "f32"}], "call": )", call, "}");
}

void GiveFloats(Executor& executor, OpIndex op, const std::vector<float>& floats) {
  executor.Give(op, std::as_bytes(std::span(floats)));
}

TEST(Executor, ViewsConstantsAndListsAreAppliedAsTheCallSays) {
  const OpGraph graph = Graph(StrCat(
      kInput, ",",
      // x times the transpose of its rows in turn: [[1, 2], [3, 4]] * [[1, 3], [2, 4]] = [[5, 11], [11, 25]].
      OpWith(R"({"op": "aten.mm.default", "args": [{"in": 0}, {"in": 0, "views": [["aten.t.default", []]]}]})"), ",",
      OpWith(
          R"({"op": "aten.add.Tensor", "args": [{"in": 0}, {"const": 2, "as": "int"}], "kwargs": {"alpha": {"const": 3, "as": "int"}}})",
          "[2, 2]", "z"),
      ",",
      OpWith(
          R"({"op": "aten.cat.default", "args": [{"list": [{"in": 0}, {"in": 0, "views": [["aten.slice.Tensor", [0, 1, 2, 1]]]}]}]})",
          "[3, 2]", "c")));
  const Cluster cluster = Cpus(2);
  Executor executor(graph, cluster, {{0, 1, 0, 1}, {}});
  GiveFloats(executor, 0, {1, 2, 3, 4});
  executor.Step();
  EXPECT_EQ(Floats(executor.Bytes(1, 0)), (std::vector<float>{5, 11, 11, 25}));
  EXPECT_EQ(Floats(executor.Bytes(2, 0)), (std::vector<float>{7, 8, 9, 10}));
  EXPECT_EQ(Floats(executor.Bytes(3, 0)), (std::vector<float>{1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(executor.program().results, (std::vector<OpIndex>{1, 2, 3}));
}

TEST(Executor, WhatAStepChangesInPlaceIsRestoredBeforeTheNext) {
  const OpGraph graph = Graph(StrCat(
      R"({"name": "w", "type": "emplace.parameter", "cost_us": 0, "attrs": {"name": "w"},
          "outputs": [{"bytes": 8, "shape": [2], "dtype": "f32"}]},
         {"name": "g", "cost_us": 1, "inputs": ["w:0"], "outputs": [{"bytes": 8, "shape": [2], "dtype": "f32"}],
          "call": {"op": "aten.mul.Tensor", "args": [{"in": 0}, {"in": 0}]}},
         {"name": "w/update", "cost_us": 1, "inputs": ["w:0", "g:0"],
          "call": {"op": "aten.sub_.Tensor", "args": [{"in": 0}, {"in": 1}]}},
         {"name": "new w", "cost_us": 1, "inputs": ["w:0", "^w/update"], "outputs": [{"bytes": 8, "shape": [2], "dtype": "f32"}],
          "call": {"op": "aten.clone.default", "args": [{"in": 0}]}})"));
  Executor executor(graph, Cpus(2), {{0, 1, 0, 0}, {}});
  GiveFloats(executor, 0, {3, 5});
  for (int step = 0; step < 3; ++step) {
    executor.Step();
    EXPECT_EQ(Floats(executor.Bytes(3, 0)), (std::vector<float>{3 - 9, 5 - 25}));
  }
  EXPECT_THAT(BadInputOf([&] {
                Executor(graph, Cpus(2), {{0, 1, 1, 0}, {}});
              }),
              HasSubstr("op 'w/update': changes 'w' in place, expected a parameter on the op's own device"));
}

// The promise of design section 10, on captured training steps of a network of each kind.
TEST(Executor, EveryPlacementGivesTheBitsOfOneDevice) {
  const Cluster cluster = Cpus(3);
  for (const char* name : {"mlp.graph.json", "cnn.graph.json.zst", "transformer.graph.json.zst"}) {
    const OpGraph graph = LoadGraph(std::filesystem::path(EMPLACE_TEST_GRAPHS) / name);
    const Placement one(static_cast<size_t>(graph.num_ops()));
    Executor reference(graph, cluster, {one, {}});
    reference.Step();
    size_t compared = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Rng rng(seed);
      Executor executor(graph, cluster, {GroupedPlacement(rng, graph, cluster), {}});
      for (int step = 0; step < 2; ++step) {
        executor.Step();
        ASSERT_EQ(executor.program().results, reference.program().results);
        for (const OpIndex op : executor.program().results) {
          for (size_t i = 0; i < graph.op(op).outputs.size(); ++i) {
            const auto output = static_cast<int32_t>(i);
            ASSERT_EQ(executor.Bytes(op, output), reference.Bytes(op, output)) << name << " " << graph.op(op).name;
            compared += reference.Bytes(op, output).size();
          }
        }
      }
    }
    EXPECT_GT(compared, 1000u);
  }
}

TEST(Executor, FollowsTheOrderOfThePlacement) {
  const OpGraph graph = LoadGraph(std::filesystem::path(EMPLACE_TEST_GRAPHS) / "mlp.graph.json");
  const Cluster cluster = Cpus(2);
  Rng rng(3);
  const Placement placement = GroupedPlacement(rng, graph, cluster);
  const DeviceOrders orders = RandomOrders(rng, graph, cluster, placement);
  Executor executor(graph, cluster, {placement, orders});
  const StepTimes& times = executor.Step();
  for (const std::vector<OpIndex>& order : orders) {
    double last_us = 0;
    for (const OpIndex op : order) {
      if (IsGiven(graph.op(op))) continue;
      EXPECT_GE(times.op_begin_us[static_cast<size_t>(op)], last_us);
      last_us = times.op_end_us[static_cast<size_t>(op)];
    }
  }
}

std::string RunError(const std::string& op, const Cluster& cluster = Cpus(1)) {
  return BadInputOf([&] {
    const OpGraph graph = Graph(StrCat(kInput, ",", op));
    Executor(graph, cluster, {{0, 0}, {}}).Step();
  });
}

TEST(Executor, RefusesWhatItCannotRun) {
  EXPECT_THAT(RunError(R"({"name": "y", "cost_us": 1, "inputs": ["x:0"]})"), HasSubstr("op 'y' has no call"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.from_file.default", "args": []})")), HasSubstr("op 'y': call: op is"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.mm.default", "args": [{"in": 0}]})")),
              HasSubstr("argument 'mat2' is missing"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.relu.default", "args": [{"in": 0}, {"in": 0}]})")),
              HasSubstr("has 2 arguments, expected at most 1"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.relu.default", "args": [{"in": 0}], "kwargs": {"x": {"in": 0}}})")),
              HasSubstr("has no argument 'x'"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.relu.default", "args": [{"const": "a", "as": "str"}]})")),
              HasSubstr("argument 'self' has a value of another type, expected Tensor"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.relu.default", "args": [{"in": 0}]})", "[4]")),
              HasSubstr("op 'y': output 0 is Float of shape [2, 2], the graph says Float of shape [4]"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.zeros_like.default", "args": [{"in": 0}],
                                   "kwargs": {"dtype": {"const": 1000, "as": "int"}}})")),
              HasSubstr("argument 'dtype' has a value of another type"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.zeros_like.default", "args": [{"in": 0}],
                                   "kwargs": {"dtype": {"const": "channels_last", "as": "memory_format"}}})")),
              HasSubstr("argument 'dtype' has a value of another type"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.add_.Tensor", "args": [{"const": 1.0, "as": "float"}, {"in": 0}]})")),
              HasSubstr("changes argument 'self' in place, expected an input"));
  EXPECT_THAT(RunError(OpWith(R"({"op": "aten.relu.default", "args": [{"in": 0}], "kwargs": {"self": {"in": 0}}})")),
              HasSubstr("argument 'self' is given by its position and by its name"));
  EXPECT_THAT(RunError(R"({"name": "p", "type": "emplace.parameter", "cost_us": 0})"),
              HasSubstr("op 'p': emplace.parameter has no shape or dtype"));
  EXPECT_THAT(RunError(R"({"name": "p", "type": "emplace.input", "cost_us": 0,
                           "outputs": [{"bytes": 4, "shape": [1099511627776], "dtype": "f32"}]})"),
              HasSubstr("op 'p': its shape takes 4.39805e+12 bytes, the graph says 4"));
  EXPECT_THAT(RunError(R"({"name": "p", "type": "emplace.constant", "cost_us": 0, "attrs": {"value": [1.5]},
                           "outputs": [{"bytes": 8, "shape": [1], "dtype": "i64"}]})"),
              HasSubstr("op 'p': value holds 1.5, expected whole numbers"));
  const std::string good = OpWith(R"({"op": "aten.relu.default", "args": [{"in": 0}]})");
  EXPECT_EQ(RunError(good), "");
  Cluster other = Cpus(1);
  other.devices[0].name = "gpu:0";
  EXPECT_THAT(RunError(good, other), HasSubstr("device 'gpu:0': no device of this computer"));
  other.devices[0].name = "cuda:99";
  EXPECT_THAT(RunError(good, other), HasSubstr("device 'cuda:99': "));
}

TEST(Executor, AnOperatorThatOnlyGpusHaveIsRefusedOnACpu) {
  Op op;
  op.name = "y";
  op.inputs = {{0, 0}, {0, 1}, {0, 2}};
  for (const char* name : {"flash", "efficient", "cudnn"}) {
    op.call_json = R"({"op": "aten._scaled_dot_product_)" + std::string(name) +
                   R"(_attention.default", "args": [{"in": 0}, {"in": 1}, {"in": 2}]})";
    EXPECT_THAT(WhyItCannotRun(op, Processor::kCpu), HasSubstr("_attention.default' cannot be run on a CPU")) << name;
  }
}

TEST(Executor, RefusesAnOpThatReadsWhatIsNotRun) {
  const OpGraph graph = Graph(R"({"name": "u", "type": "emplace.update", "cost_us": 0, "outputs": [{"bytes": 4}]},
                                 {"name": "r", "cost_us": 1, "inputs": ["u:0"], "outputs": [{"bytes": 4}],
                                  "call": {"op": "aten.alias.default", "args": [{"in": 0}]}})");
  EXPECT_THAT(BadInputOf([&] {
                Executor(graph, Cpus(1), {{0, 0}, {}});
              }),
              HasSubstr("op 'r': reads 'u', an update that is left to the optimizer and not run"));
}

TEST(Executor, ReplicasOfAParameterHoldTheSameNumbers) {
  const auto parameter = [](const char* op, const char* name) {
    return StrCat(R"({"name": ")", op, R"(", "type": "emplace.parameter", "cost_us": 0, "attrs": {"name": ")", name,
                  R"("}, "outputs": [{"bytes": 32, "shape": [2, 4], "dtype": "f32"}]})");
  };
  const OpGraph graph =
      Graph(StrCat(parameter("part0/w", "w"), ",", parameter("part1/w", "w"), ",", parameter("part0/v", "v")));
  Executor executor(graph, Cpus(1), {{0, 0, 0}, {}});
  executor.Step();
  EXPECT_EQ(executor.Bytes(0, 0), executor.Bytes(1, 0));
  EXPECT_NE(executor.Bytes(0, 0), executor.Bytes(2, 0));
}

TEST(Executor, ConstantsOfWholeNumbersAreExact) {
  const OpGraph graph = Graph(R"({"name": "c", "type": "emplace.constant", "cost_us": 0,
                                  "attrs": {"value": [9223372036854775807, 9007199254740993]},
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "i64"}]},
                                 {"name": "y", "cost_us": 1, "inputs": ["c:0"],
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "i64"}],
                                  "call": {"op": "aten.clone.default", "args": [{"in": 0}]}})");
  Executor executor(graph, Cpus(1), {{0, 0}, {}});
  executor.Step();
  const std::vector<std::byte> bytes = executor.Bytes(1, 0);
  std::vector<int64_t> numbers(2);
  ASSERT_EQ(bytes.size(), 16u);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  EXPECT_EQ(numbers, (std::vector<int64_t>{9223372036854775807, 9007199254740993}));
}

TEST(Executor, ConstantsOfComplexNumbersAreTheirParts) {
  const OpGraph graph = Graph(R"({"name": "c", "type": "emplace.constant", "cost_us": 0,
                                  "attrs": {"value": [[1.5, -2], [0, 4]]},
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "c64"}]},
                                 {"name": "y", "cost_us": 1, "inputs": ["c:0"],
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "c64"}],
                                  "call": {"op": "aten.clone.default", "args": [{"in": 0}]}})");
  Executor executor(graph, Cpus(1), {{0, 0}, {}});
  executor.Step();
  EXPECT_EQ(Floats(executor.Bytes(1, 0)), (std::vector<float>{1.5, -2, 0, 4}));
}

// The memory of such a tensor holds the numbers themselves, and a bit beside it says that their conjugates are meant.
TEST(Executor, ConjugatesStayConjugatesOnAnotherDevice) {
  const OpGraph graph = Graph(R"({"name": "x", "type": "emplace.constant", "cost_us": 0,
                                  "attrs": {"value": [[1.5, -2], [0, 4]]},
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "c64"}]},
                                 {"name": "y", "cost_us": 1, "inputs": ["x:0"],
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "c64"}],
                                  "call": {"op": "aten._conj.default", "args": [{"in": 0}]}},
                                 {"name": "z", "cost_us": 1, "inputs": ["y:0"],
                                  "outputs": [{"bytes": 16, "shape": [2], "dtype": "c64"}],
                                  "call": {"op": "aten.clone.default", "args": [{"in": 0}]}})");
  for (const DeviceIndex device : {0, 1}) {
    Executor executor(graph, Cpus(2), {{0, 0, device}, {}});
    executor.Step();
    EXPECT_EQ(Floats(executor.Bytes(2, 0)), (std::vector<float>{1.5, 2, 0, -4})) << device;
  }
}

// In the graph that is simulated an update that the caller's optimizer makes reads nothing, and comes first.
TEST(Executor, WhatIsLeftOutComesLastInOrders) {
  const OpGraph graph = Graph(R"({"name": "p", "type": "emplace.parameter", "cost_us": 0, "outputs": [{"bytes": 4}]},
                                 {"name": "u", "type": "emplace.update", "cost_us": 1, "inputs": ["p:0", "g:0"]},
                                 {"name": "g", "cost_us": 1, "inputs": ["p:0"], "outputs": [{"bytes": 4}]},
                                 {"name": "v", "type": "emplace.update", "cost_us": 1, "inputs": ["^u"]})");
  const Placement placement = {0, 0, 0, 0};
  const DeviceOrders simulated = {{3, 1, 0, 2}, {}};
  CheckOrders(WithoutCostsOfOpsNotRun(graph), Cpus(2), placement, simulated);
  EXPECT_THROW(CheckOrders(graph, Cpus(2), placement, simulated), Error);
  const DeviceOrders orders = WithLeftOutLast(graph, simulated);
  EXPECT_EQ(orders, (DeviceOrders{{0, 2, 1, 3}, {}}));
  CheckOrders(graph, Cpus(2), placement, orders);
}

// Its kernels would write beyond a smaller key's gradient, and read beyond a smaller key.
TEST(Executor, FlashAttentionOfShapesThatDoNotGoTogetherIsNotRun) {
  const auto given = [](const char* name, const char* shape, int bytes) {
    return StrCat(R"({"name": ")", name, R"(", "type": "emplace.input", "cost_us": 0, "attrs": {"name": ")", name,
                  R"("}, "outputs": [{"bytes": )", bytes, R"(, "shape": )", shape, R"(, "dtype": "f32"}]},)");
  };
  const auto error = [&](const char* key_shape, int key_bytes, bool backward, const std::string& key_views = "") {
    const std::string query = R"({"in": 0})";
    const std::string key = StrCat(R"({"in": 1)", key_views, "}");
    const std::string call =
        backward ? StrCat(R"(_backward.default", "args": [)", Join({query, query, key, key, query}, ", "),
                          R"(, {"in": 2}, {"const": 0.0, "as": "float"}, {"const": false, "as": "bool"}]})")
                 : StrCat(R"(.default", "args": [)", Join({query, key, key}, ", "), "]}");
    const OpGraph graph = Graph(StrCat(
        given("q", "[2, 2, 4, 8]", 512), given("k", key_shape, key_bytes), given("lse", "[2, 2, 4]", 64),
        R"({"name": "y", "cost_us": 1, "inputs": ["q:0", "k:0", "lse:0"], "outputs": [{"bytes": 512}], "call": )",
        R"({"op": "aten._scaled_dot_product_flash_attention_for_cpu)", call, "}"));
    Executor executor(graph, Cpus(1), {{0, 0, 0, 0}, {}});
    try {
      executor.Step();
    } catch (const Error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  for (const bool backward : {false, true}) {
    EXPECT_EQ(error("[2, 2, 4, 8]", 512, backward), "");
    EXPECT_EQ(error("[2, 2, 9, 8]", 1152, backward), "");
    EXPECT_THAT(error("[1, 2, 4, 8]", 256, backward),
                HasSubstr("key has the shape [1, 2, 4, 8], expected [2, 2, 4, 8]"));
    EXPECT_THAT(error("[2, 2, 4, 4]", 256, backward), HasSubstr("'y'"));
    EXPECT_EQ(error("[2, 1, 4, 8]", 256, backward).find("key has 1 heads, query has 2") != std::string::npos, backward);
    // One number that stands for all of a head's.
    EXPECT_THAT(error("[2, 2, 4, 1]", 64, backward, R"(, "views": [["aten.expand.default", [[2, 2, 4, 8]]]])"),
                HasSubstr("key has a stride of 0 in its last dimension, expected 1"));
  }
}

TEST(Executor, AnOpThatFailsEndsTheStepWithItsName) {
  const OpGraph graph = Graph(StrCat(
      kInput, ",",
      OpWith(
          R"({"op": "aten.mm.default", "args": [{"in": 0}, {"in": 0, "views": [["aten.view.default", [[4, 1]]]]}]})")));
  Executor executor(graph, Cpus(2), {{0, 1}, {}});
  try {
    executor.Step();
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_THAT(error.what(), HasSubstr("op 'y' failed: mat1 and mat2 shapes cannot be multiplied"));
  }
}

}  // namespace
}  // namespace emplace
