// The simulator of the design, section 4, written a second time: straight from the rules, on the op graph itself, with
// every single event in one priority queue, for all link models. Slow and plain; what simulator/ is held against.
#pragma once

#include <vector>

#include "simulator/cluster.h"
#include "simulator/op_graph.h"
#include "simulator/placement.h"

namespace emplace {

struct OracleRun {
  double makespan_us = 0;
  std::vector<double> start_us;     // [n]
  std::vector<double> finish_us;    // [n]
  std::vector<int64_t> peak_bytes;  // [D]
  size_t transfers = 0;
};

OracleRun SimulateByEventQueue(const OpGraph& graph, const Cluster& cluster, const Placement& placement);

}  // namespace emplace
