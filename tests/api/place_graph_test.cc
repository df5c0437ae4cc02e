#include "api/place_graph.h"

#include <gtest/gtest.h>

#include <string>

#include "simulator/graph/graph_io.h"

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

}  // namespace
}  // namespace emplace
