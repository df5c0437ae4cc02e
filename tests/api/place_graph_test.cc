#include "api/place_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulator/graph/graph_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

constexpr int64_t kBudget = 20'000;

Cluster TwoDevices() {
  Cluster cluster;
  cluster.devices = {{.name = "x:0", .kind = "x", .memory_bytes = 1000},
                     {.name = "x:1", .kind = "x", .memory_bytes = 1000}};
  cluster.bandwidth_bytes_per_us = 1;
  return cluster;
}

struct Found {
  double us = 0;        // Of what the objective minimizes,
  double bound_us = 0;  // and its lower bound.
  int64_t evaluations = 0;
};

Found Place(const std::string& ops, Objective objective) {
  const OpGraph graph = ParseGraph(R"({"format": "emplace.graph/1", "name": "g", "ops": [)" + ops + "]}", "g.json");
  const Cluster cluster = TwoDevices();
  const PlacedGraph placed =
      PlaceGraph(graph, cluster, {.graph_source = "g.json", .devices_source = "d.yaml", .method = "auto"},
                 {.budget = kBudget, .objective = objective});
  return {placed.chosen.score.Us(objective),
          objective == Objective::kLatency ? placed.lower_bound_us : placed.load_bound_us, placed.result.evaluations};
}

constexpr char kChain[] = R"({"name": "a", "cost_us": 10, "outputs": [{"bytes": 1}]},
    {"name": "b", "cost_us": 10, "inputs": ["a:0"], "outputs": [{"bytes": 1}]},
    {"name": "c", "cost_us": 10, "inputs": ["b:0"], "outputs": [{"bytes": 1}]},
    {"name": "d", "cost_us": 10, "inputs": ["c:0"]})";
constexpr char kThreeAlone[] =
    R"({"name": "a", "cost_us": 10}, {"name": "b", "cost_us": 10}, {"name": "c", "cost_us": 10})";

TEST(PlaceGraph, EndsASearchWhereNothingCanBeBetter) {
  const Found found = Place(kChain, Objective::kLatency);
  EXPECT_NEAR(found.us, 40, 1e-9);  // One after the other on either device.
  EXPECT_LT(found.evaluations, kBudget / 10);
}

TEST(PlaceGraph, EndsASearchForThroughputAtTheBoundOfTheLoad) {
  const Found found = Place(std::string(kThreeAlone) + R"(, {"name": "d", "cost_us": 10})", Objective::kThroughput);
  EXPECT_NEAR(found.us, 20, 1e-9);
  EXPECT_LT(found.evaluations, kBudget / 10);
}

TEST(PlaceGraph, SearchesToItsEndAboveTheBound) {
  for (const Objective objective : {Objective::kLatency, Objective::kThroughput}) {
    const Found found = Place(kThreeAlone, objective);
    EXPECT_NEAR(found.us, 20, 1e-9);
    EXPECT_NEAR(found.bound_us, 15, 1e-6);
    EXPECT_GT(found.evaluations, kBudget / 10 * 9);
  }
}

PlacedGraph PlaceOn(const Cluster& cluster, const std::string& ops, PlaceRequest request,
                    const MethodOptions& options) {
  static OpGraph graph("", {});
  graph = ParseGraph(R"({"format": "emplace.graph/1", "name": "g", "ops": [)" + ops + "]}", "g.json");
  request.graph_source = "g.json";
  request.devices_source = "d.yaml";
  return PlaceGraph(graph, cluster, request, options);
}

TEST(PlaceGraph, GivesAMethodThatDoesNotSearchItsTimeWhereThatIsAsked) {
  const Cluster cluster = TwoDevices();
  const PlacedGraph ended =
      PlaceOn(cluster, kChain, {.method = "m-sct", .ends_any_method = true}, {.budget = 0, .seconds = 1e-9});
  EXPECT_TRUE(ended.chosen.fallback);
  EXPECT_EQ(ended.found_by, "single");
  const PlacedGraph whole = PlaceOn(cluster, kChain, {.method = "m-sct"}, {.budget = 0, .seconds = 1e-9});
  EXPECT_TRUE(whole.result.placement.has_value());
}

TEST(PlaceGraph, AsksForOrdersOfTheseNamesAlone) {
  MethodOptions options;
  AskForOrder("none", options);
  EXPECT_FALSE(options.orders);
  EXPECT_THAT(BadInputOf([&] { AskForOrder("x", options); }),
              testing::HasSubstr("unknown order 'x', expected one of: none, arrival, rank, "));
}

TEST(PlaceGraph, TellsThatTheMethodHasPlaced) {
  int calls = 0;
  PlaceOn(TwoDevices(), kChain, {.method = "heft", .on_placed = [&] { ++calls; }}, {});
  EXPECT_EQ(calls, 1);
}

TEST(PlaceGraph, OpsOfNoCostHoldTheirOutputsForNoTime) {
  // b reads the 1,600 bytes of a when they are made, and a device has 1,000.
  constexpr char kFree[] = R"({"name": "a", "cost_us": 0, "outputs": [{"bytes": 1600}]},
      {"name": "b", "cost_us": 0, "inputs": ["a:0"], "outputs": [{"bytes": 1}]})";
  EXPECT_TRUE(PlaceOn(TwoDevices(), kFree, {.method = "auto"}, {}).chosen.score.feasible);
  Cluster published = TwoDevices();
  published.memory_rule = MemoryRule::kPlaceto;
  EXPECT_THAT(BadInputOf([&] { PlaceOn(published, kFree, {.method = "auto"}, {}); }),
              testing::HasSubstr("g.json on d.yaml: op 'a' needs 1600 bytes, expected at most 1000 bytes"));
}

TEST(PlaceGraph, ErrorsNameTheFiles) {
  EXPECT_THAT(
      BadInputOf([&] { PlaceOn(TwoDevices(), R"({"name": "a", "cost_us": {"y": 1}})", {.method = "auto"}, {}); }),
      testing::HasSubstr("g.json on d.yaml: device 'x:0' is of kind 'x', which may run no op"));
}

}  // namespace
}  // namespace emplace
