// A simulated run as Chrome trace events, which Perfetto and chrome://tracing open.
#pragma once

#include <span>
#include <string>

#include "simulator/cluster.h"
#include "simulator/op_graph.h"
#include "simulator/sim_graph.h"
#include "simulator/simulator.h"

namespace emplace {

// One process a device with the rows "compute" and "link"; with a topology, "link" gives way to a process "network"
// with a row for each direction of each link, and a transfer shows on all rows of its route. Flows from a producer over
// its transfer to the remote readers; a counter of held memory for each device. Times in microseconds. REQUIRES:
// timeline is the run of `placement`.
std::string TraceToJson(const OpGraph& graph, const Cluster& cluster, const SimGraph& sim,
                        std::span<const DeviceIndex> placement, const Timeline& timeline);

}  // namespace emplace
