#include "tests/fuzz/small_machine.h"

#include "simulator/graph/graph_io.h"

namespace emplace {

Cluster SmallCluster() {
  return ParseCluster(R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 1.0e6}
  - {name: "cpu:0", kind: cpu, memory_bytes: 3000}
op_overhead_us: 1
transfer: {bandwidth_bytes_per_us: 100, overhead_us: 2}
)",
                      "small cluster");
}

Cluster SmallTopologyCluster() {
  return ParseCluster(R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 1.0e6}
  - {name: "gpu:1", kind: k80, memory_bytes: 1.0e6}
  - {name: "cpu:0", kind: cpu, memory_bytes: 3000}
op_overhead_us: 1
topology:
  overhead_us: 3
  nodes: [switch]
  links:
    - {name: gpu0, between: ["gpu:0", switch], bandwidth_bytes_per_us: 100, latency_us: 0.5}
    - {name: gpu1, between: ["gpu:1", switch], bandwidth_bytes_per_us: 100, latency_us: 0.5}
    - {name: pair, between: ["gpu:0", "gpu:1"], bandwidth_bytes_per_us: 400, latency_us: 0}
    - {name: cpu0, between: ["cpu:0", switch], bandwidth_bytes_per_us: 20, latency_us: 2}
)",
                      "small topology cluster");
}

OpGraph SmallGraph() {
  return ParseGraph(R"({"format": "emplace.graph/1", "name": "small", "ops": [
{"name": "in", "type": "aten.empty", "cost_us": 0, "outputs": [{"bytes": 1000, "shape": [10, 25], "dtype": "f32"}]},
{"name": "left", "cost_us": 10, "inputs": ["in:0"], "outputs": [{"bytes": 500}, {"bytes": 0}], "param_bytes": 2000, "group": "weights"},
{"name": "right", "cost_us": {"k80": 5}, "inputs": ["in"], "outputs": [{"bytes": 400}], "temp_bytes": 100},
{"name": "join", "cost_us": {"k80": 3, "cpu": 30}, "inputs": ["left:0", "left:1", "right:0"], "outputs": [{"bytes": 40}], "flops": 1e6},
{"name": "update", "cost_us": 2, "inputs": ["join:0", "^right"], "outputs": [], "group": "weights", "attrs": {"stage": 1}},
{"name": "out", "cost_us": 7.5, "inputs": ["join:0"], "outputs": [{"bytes": 8}], "allowed": ["k80", "cpu"]}
]})",
                    "small graph");
}

std::vector<PlacementTask> SmallTasks() {
  const OpGraph chain = ParseGraph(R"({"format": "emplace.graph/1", "name": "chain", "ops": [
{"name": "a", "cost_us": 4, "outputs": [{"bytes": 100}]},
{"name": "b", "cost_us": 5, "inputs": ["a"], "outputs": [{"bytes": 200}, {"bytes": 300}]},
{"name": "c", "cost_us": 6, "inputs": ["b:0", "b:1"], "outputs": []}
]})",
                                   "chain");
  std::vector<PlacementTask> tasks;
  for (const OpGraph& graph : {SmallGraph(), chain}) tasks.push_back(PlacementTask::Make(graph, SmallCluster(), 4));
  return tasks;
}

PlacementTask SmallTopologyTask() { return PlacementTask::Make(SmallGraph(), SmallTopologyCluster(), 4); }

}  // namespace emplace
