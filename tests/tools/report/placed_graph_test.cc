#include "tools/report/placed_graph.h"

#include <gtest/gtest.h>

#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

// a (10 us) on gpu:0 sends 1000 B to c: 1 us on the link, so c starts at 20, when b (20 us) on gpu:1 has ended.
TEST(PlacedGraph, ShowsTheRunAndTheGroups) {
  const OpGraph graph = ParseGraph(R"({"format": "emplace.graph/1", "name": "tiny", "ops": [
    {"name": "a", "type": "mm", "cost_us": 10, "inputs": [], "outputs": [{"bytes": 1000}]},
    {"name": "b", "type": "mm", "cost_us": 20, "inputs": [], "outputs": [{"bytes": 500}]},
    {"name": "c", "type": "add", "cost_us": 5, "inputs": ["a:0", "b:0"], "outputs": []}]})",
                                   "g");
  const Cluster cluster = ParseCluster(R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 4000}
  - {name: "gpu:1", kind: k80, memory_bytes: 4000}
op_overhead_us: 0
transfer: {bandwidth_bytes_per_us: 1000, overhead_us: 0}
)",
                                       "d");
  const OrderedJson placed = PlacedGraphToJson(graph, cluster, {0, 1, 1}, 3);
  EXPECT_EQ(placed["graph"], "tiny");
  EXPECT_EQ(placed["makespan_us"], 25.0);
  EXPECT_EQ(placed["single_device_us"], 35.0);
  EXPECT_EQ(placed["types"], (OrderedJson{"mm", "add"}));
  EXPECT_EQ(placed["ops"]["type"], (OrderedJson{0, 0, 1}));
  EXPECT_EQ(placed["ops"]["start_us"], (OrderedJson{0.0, 0.0, 20.0}));
  EXPECT_EQ(placed["ops"]["duration_us"], (OrderedJson{10.0, 20.0, 5.0}));
  EXPECT_EQ(placed["ops"]["device"], (OrderedJson{0, 1, 1}));
  EXPECT_EQ(placed["links"], (OrderedJson{"link of gpu:0", "link of gpu:1"}));
  EXPECT_EQ(placed["transfers"]["link"], (OrderedJson::array({0})));
  EXPECT_EQ(placed["transfers"]["op"], (OrderedJson::array({0})));
  EXPECT_EQ(placed["transfers"]["start_us"], (OrderedJson::array({10.0})));
  EXPECT_EQ(placed["transfers"]["duration_us"], (OrderedJson::array({1.0})));
  EXPECT_EQ(placed["devices"][1]["ops"], 2);
  EXPECT_EQ(placed["devices"][1]["busy_us"], 25.0);
  EXPECT_EQ(placed["devices"][0]["peak_bytes"], 1000);
  // gpu:0 holds a's output from its start until it has been sent.
  EXPECT_EQ(placed["memory"][0], (OrderedJson{{"time_us", {0.0, 11.0}}, {"bytes", {1000, 0}}}));
  EXPECT_EQ(placed["groups"]["ops"].size(), placed["groups"]["layer"].size());
  EXPECT_EQ(placed["groups"]["edges"]["from"].size(), placed["groups"]["edges"]["bytes"].size());
  // In the order b, a, c on one device a starts at 20.
  const OrderedJson ordered = PlacedGraphToJson(graph, cluster, {0, 0, 0}, 3, {{1, 0, 2}, {}});
  EXPECT_EQ(ordered["ops"]["start_us"], (OrderedJson{20.0, 0.0, 30.0}));
}

TEST(PlacedGraph, AGroupMayBeSpreadOverDevices) {
  const OpGraph graph = ParseGraph(R"({"format": "emplace.graph/1", "name": "chain", "ops": [
    {"name": "a", "type": "mm", "cost_us": 10, "inputs": [], "outputs": [{"bytes": 8}]},
    {"name": "b", "type": "mm", "cost_us": 20, "inputs": ["a:0"], "outputs": []}]})",
                                   "g");
  const Cluster cluster = ParseCluster(R"(
devices:
  - {name: "x", kind: k80, memory_bytes: 4000}
  - {name: "y", kind: k80, memory_bytes: 4000}
op_overhead_us: 0
transfer: {bandwidth_bytes_per_us: 1000, overhead_us: 0}
)",
                                       "d");
  const OrderedJson groups = PlacedGraphToJson(graph, cluster, {0, 1}, 1)["groups"];
  EXPECT_EQ(groups["ops_on"], (OrderedJson::array({{1, 1}})));
  EXPECT_EQ(groups["costliest_op"], (OrderedJson::array({1})));
  EXPECT_EQ(groups["cost_us"], (OrderedJson::array({30.0})));
}

}  // namespace
}  // namespace emplace
