// Times of a graph's ops on one device, measured in whole steps: so each op finds its inputs in the caches, or not, as
// in a step.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actor/hardware/executor.h"
#include "simulator/graph/measured_costs.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct ProfiledCost {
  CostKey key;      // Type and input shapes of the op, and the kind of the device.
  double us = 0;    // Mean over the ops of this key, of each op's median time.
  int64_t ops = 0;  // Number of these ops.
};

// An op that was not run, and why.
struct UnprofiledOp {
  std::string name;
  std::string reason;
};

struct OpProfile {
  std::vector<ProfiledCost> costs;  // Ascending by key.
  double op_overhead_us = 0;        // Mean time between the end of an op and the begin of the next one.
  int32_t steps = 0;                // Number of steps that were timed.
};

// The part of a graph that can be run: an op that cannot be leaves out everything that reads what it makes.
struct RunnablePart {
  OpGraph graph;                      // Every op costs 1 us on every kind.
  std::vector<UnprofiledOp> not_run;  // In the order of the ops; without updates, which are the optimizer's.
};
// processors: those that all ops have to run on. REQUIRES: FindDevicesHere has found a GPU, for kGpu.
RunnablePart FindRunnablePart(const OpGraph& graph, const std::set<Processor>& processors);

// Runs steps of a RunnablePart's graph on this device of the cluster for about `seconds`, at least two. Throws BadInput
// for a device that is not here, and for a graph without ops to run.
OpProfile ProfileOps(const OpGraph& graph, const Cluster& cluster, DeviceIndex device, double seconds);

}  // namespace emplace
