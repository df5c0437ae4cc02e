#include "simulator/graph/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_THAT(PlacementError("[0, 0, 1]"),
              AllOf(HasSubstr("op 'c'"), HasSubstr("may not run on 'd:1' of kind 'y', expected")));
  const std::string head = R"({"format": "emplace.placement/1", )";
  EXPECT_THAT(PlacementError(head + R"("ops": {"a": 0, "b": 0}})"),
              HasSubstr("op 'c' has no device, expected one for each op"));
  EXPECT_THAT(PlacementError(head + R"("ops": {"a": 0, "b": 0, "c": 0, "z": 0}})"),
              HasSubstr("op 'z' is not in graph 'three', expected its ops alone"));
  EXPECT_THAT(PlacementError(head + R"("ops": {"a": 0, "b": 7, "c": 0}})"), HasSubstr("op 'b'"));
  EXPECT_THAT(PlacementError(head + R"("ops": []})"), HasSubstr("ops is [], expected an object with a device index"));
  EXPECT_EQ(PlacementError("{}"), "p.json: 'format' is missing, expected \"emplace.placement/1\"");
  EXPECT_THAT(PlacementError(R"({"format": "emplace.placement/1"})"),
              HasSubstr("'ops' is missing, expected an object"));
  EXPECT_THAT(PlacementError(head + R"("devices": ["d:1", "d:0"], "ops": {}})"),
              HasSubstr("expected those of the cluster: [\"d:0\",\"d:1\"]"));
  EXPECT_EQ(PlacementError(head + R"("found": {"episodes": 3}, "ops": {"a": 0, "b": 0, "c": 0}})"), "");
  EXPECT_EQ(PlacementError(head + R"("ops": {"a": 0, "b": 0, "c": 0}, "orders": {"d:0": ["c", "b", "a"]}})"),
            "p.json: unknown key 'orders', expected one of format, found, devices, ops, order");
  EXPECT_THAT(PlacementError(R"({"format": "emplace.placement/9", "ops": {}})"),
              HasSubstr("expected \"emplace.placement/1\""));
  EXPECT_THAT(PlacementError("5"), HasSubstr("expected 'emplace.placement/1' or an array"));
  EXPECT_THAT(PlacementError("[0,\n 0, x]"), StartsWith("p.json:2:5: not valid JSON"));
  EXPECT_THAT(PlacementError(std::string(300000, '[')), HasSubstr("nests deeper"));
}

TEST(Placement, OrdersAreWrittenAndReadBack) {
  int with_order = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const OpGraph graph = RandomGraph(rng);
    const Cluster cluster = RandomCluster(rng);
    const Placement placement = RandomPlacement(rng, graph, cluster);
    DeviceOrders orders = RandomOrders(rng, graph, cluster, placement);
    const std::string json = PlacementToJson(graph, cluster, placement, "", orders);
    if (std::all_of(orders.begin(), orders.end(), [](const auto& order) { return order.empty(); })) orders.clear();
    with_order += static_cast<int>(!orders.empty());
    ASSERT_EQ(ParseOrderedPlacement(json, "p", graph, cluster), (OrderedPlacement{placement, orders})) << seed;
    ASSERT_EQ(ParsePlacement(json, "p", graph, cluster), placement);
  }
  EXPECT_GT(with_order, 50);
}

TEST(Placement, ReadsOrdersOfSomeDevices) {
  const std::string head = R"({"format": "emplace.placement/1", "ops": {"a": 0, "b": 0, "c": 0}, "order": )";
  const auto orders_of = [&](const std::string& order) {
    return ParseOrderedPlacement(head + order + "}", "p", ThreeOps(), TwoDevices()).orders;
  };
  EXPECT_EQ(orders_of(R"({"d:0": ["c", "a", "b"]})"), (DeviceOrders{{2, 0, 1}, {}}));
  EXPECT_EQ(orders_of(R"({"d:1": []})"), (DeviceOrders{{}, {}}));
}

TEST(Placement, RefusesWhatIsNoOrder) {
  const auto error_of = [](const std::string& order) {
    return PlacementError(R"({"format": "emplace.placement/1", "ops": {"a": 0, "b": 1, "c": 0}, "order": )" + order +
                          "}");
  };
  EXPECT_EQ(error_of(R"({"d:0": ["c", "a"], "d:1": ["b"]})"), "");
  EXPECT_THAT(error_of(R"({"d:0": ["c", "a", "c"]})"), HasSubstr("order of 'd:0': op 'c' comes twice"));
  EXPECT_THAT(error_of(R"({"d:0": ["c"]})"), HasSubstr("order of 'd:0': op 'a' is missing"));
  EXPECT_THAT(error_of(R"({"d:0": []})"), HasSubstr("order of 'd:0' is empty, but op 'a' is on this device"));
  EXPECT_THAT(error_of(R"({"d:1": ["b", "a"]})"), HasSubstr("order of 'd:1': op 'a' is on 'd:0'"));
  EXPECT_THAT(error_of(R"({"d:1": ["b", "z"]})"), HasSubstr("order of 'd:1': op 'z' is not in graph 'three'"));
  EXPECT_THAT(error_of(R"({"d:2": []})"), HasSubstr("there is no device 'd:2', expected one of: d:0, d:1"));
  EXPECT_THAT(error_of(R"({"d:1": "b"})"), HasSubstr("order of 'd:1' is \"b\", expected a list of op names"));
  EXPECT_THAT(error_of(R"({"d:1": [1]})"), HasSubstr("order of 'd:1' holds 1, expected op names"));
  EXPECT_THAT(error_of(R"(["b"])"), HasSubstr("order is [\"b\"], expected an object with a list of ops"));
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
