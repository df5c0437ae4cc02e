// A simulated run as Chrome trace events, which Perfetto and chrome://tracing open.
#pragma once

#include <span>
#include <string>

#include "simulator/engine/sim_graph.h"
#include "simulator/engine/simulator.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Each device is a process with the rows "compute" and "link". With a topology there is, instead of the "link" rows, a
// process "network" with a row for each direction of each link, and a transfer is on all rows of its route. Flows lead
// from a producer over its transfer to the remote readers. Each device has a counter of held memory. Times are in
// microseconds. REQUIRES: `timeline` is the run of `placement`.
std::string TraceToJson(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim,
                        std::span<const DeviceIndex> placement, const Timeline& timeline);

}  // namespace emplace
