// A second simulator, as the oracle for tests of simulator/: it follows the rules directly, works on the op graph
// itself, and puts every event into one priority queue, for all link models. It is slow and simple.
#pragma once

#include <vector>

#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct OracleRun {
  double makespan_us = 0;
  std::vector<double> start_us;     // [n]
  std::vector<double> finish_us;    // [n]
  std::vector<int64_t> peak_bytes;  // [D]
  size_t transfers = 0;
};

OracleRun SimulateByEventQueue(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                               const DeviceOrders& orders = {});

}  // namespace emplace
