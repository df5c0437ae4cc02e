#include "simulator/graph/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

OpGraph ThreeOps() {
  std::vector<Op> ops(3);
  ops[0].name = "a";
  ops[1].name = "b";
  ops[2].name = "c";
  ops[2].cost = OpCost::ByKind({{"x", 1}});
  return OpGraph("three", std::move(ops));
}

Cluster TwoDevices() {
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1}, {"d:1", "y", 1}};
  cluster.bandwidth_bytes_per_us = 1;
  return cluster;
}

std::string PlacementError(const std::string& json) {
  return BadInputOf([&] { ParsePlacement(json, "p.json", ThreeOps(), TwoDevices()); }, "p.json:");
}

TEST(Placement, ReadsBothForms) {
  const Placement expected = {1, 1, 0};
  EXPECT_EQ(ParsePlacement("[1, 1, 0]", "p", ThreeOps(), TwoDevices()), expected);
  EXPECT_EQ(
      ParsePlacement(R"({"format": "emplace.placement/1", "devices": ["d:0", "d:1"], "ops": {"c": 0, "a": 1, "b": 1}})",
                     "p", ThreeOps(), TwoDevices()),
      expected);
  EXPECT_EQ(ParsePlacement(R"({"format": "emplace.placement/1", "ops": {"a": 1, "b": 1, "c": 0}})", "p", ThreeOps(),
                           TwoDevices()),
            expected);
}

TEST(Placement, WhatIsWrittenReadsBackTheSame) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraph(rng);
    const Cluster cluster = RandomCluster(rng);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    const std::string json = PlacementToJson(graph, cluster, placement);
    ASSERT_EQ(ParsePlacement(json, "p", graph, cluster), placement) << "seed " << seed;
  }
}

TEST(Placement, RefusesAndNamesTheOp) {
  EXPECT_THAT(PlacementError("[0, 0]"),
              AllOf(HasSubstr("has 2 devices, expected one for each of 3 ops"), HasSubstr("'c'")));
  EXPECT_THAT(PlacementError("[0, 0, 0, 0]"), HasSubstr("has 4 devices, expected one for each of 3 ops"));
  EXPECT_THAT(PlacementError("[0, 2, 0]"), AllOf(HasSubstr("op 'b'"), HasSubstr("0..1")));
  EXPECT_THAT(PlacementError("[0, -1, 0]"), AllOf(HasSubstr("op 'b'"), HasSubstr("0..1")));
  EXPECT_THAT(PlacementError("[0, 18446744073709551615, 0]"), HasSubstr("op 'b'"));
  EXPECT_THAT(PlacementError("[0, 0.5, 0]"), HasSubstr("op 'b'"));
  EXPECT_THAT(PlacementError("[0, \"0\", 0]"), HasSubstr("op 'b'"));
  EXPECT_THAT(PlacementError("[0, 0, 1]"), AllOf(HasSubstr("op 'c'"), HasSubstr("may not run on 'd:1' of kind 'y'")));
  const std::string head = R"({"format": "emplace.placement/1", )";
  EXPECT_THAT(PlacementError(head + R"("ops": {"a": 0, "b": 0}})"), HasSubstr("op 'c' has no device"));
  EXPECT_THAT(PlacementError(head + R"("ops": {"a": 0, "b": 0, "c": 0, "z": 0}})"),
              HasSubstr("op 'z' is not in graph 'three'"));
  EXPECT_THAT(PlacementError(head + R"("ops": {"a": 0, "b": 7, "c": 0}})"), HasSubstr("op 'b'"));
  EXPECT_THAT(PlacementError(head + R"("ops": []})"), HasSubstr("'ops' is not an object"));
  EXPECT_THAT(PlacementError(head + R"("devices": ["d:1", "d:0"], "ops": {}})"),
              HasSubstr("expected those of the cluster: [\"d:0\",\"d:1\"]"));
  EXPECT_THAT(PlacementError(R"({"format": "emplace.placement/9", "ops": {}})"),
              HasSubstr("expected \"emplace.placement/1\""));
  EXPECT_THAT(PlacementError("5"), HasSubstr("expected 'emplace.placement/1' or an array"));
  EXPECT_THAT(PlacementError("[0,\n 0, x]"), StartsWith("p.json:2:5: not valid JSON"));
  EXPECT_THAT(PlacementError(std::string(300000, '[')), HasSubstr("nests deeper"));
}

TEST(Placement, CheckNamesTheOp) {
  const auto error_of = [](const Placement& placement) -> std::string {
    try {
      CheckPlacement(ThreeOps(), TwoDevices(), placement);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({0, 1, 0}), "");
  EXPECT_THAT(error_of({0, 2, 0}), HasSubstr("op 'b'"));
  EXPECT_THAT(error_of({0, -1, 0}), HasSubstr("op 'b'"));
  EXPECT_THAT(error_of({0, 1, 1}), HasSubstr("op 'c'"));
  EXPECT_THAT(error_of({0}), HasSubstr("op 'b' has none"));
}

}  // namespace
}  // namespace emplace
