// The best single device for a graph, to which placements are compared.
#pragma once

#include <limits>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// The device with the least makespan of all that may run every op and fit the graph in memory, or, if none fits it, of
// all that may run every op.
struct SingleDevice {
  DeviceIndex device = -1;  // -1: no device may run every op.
  double makespan_us = std::numeric_limits<double>::infinity();
};

SingleDevice FindSingleDevice(const SimGraph& graph);

}  // namespace emplace
