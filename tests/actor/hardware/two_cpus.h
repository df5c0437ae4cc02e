// Two devices of the CPU, for graphs that are run on both.
#pragma once

#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

inline Cluster TwoCpus() {
  return {.devices = {{"cpu:0", "cpu", 1}, {"cpu:1", "cpu", 1}}, .op_overhead_us = 0, .bandwidth_bytes_per_us = 1};
}

// Ops on the one and the other in turn; those of groups, which have to be together, on the first.
inline Placement InTurn(const OpGraph& graph) {
  Placement placement;
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    placement.push_back(graph.op(op).group.empty() ? static_cast<DeviceIndex>(op % 2) : 0);
  }
  return placement;
}

}  // namespace emplace
