// What a transfer takes on average over the machine's pairs of devices, for who has to weigh transfers before anything
// is placed.
#pragma once

#include "simulator/engine/sim_graph.h"

namespace emplace {

// Means over all ordered pairs of different devices; all zero for a machine of one device.
struct MeanLink {
  double us_per_byte = 0;  // 1 / bandwidth; with a topology, that of the route's slowest link.
  double fixed_us = 0;     // Latency of the link or route, and the overhead after a transfer.
  double busy_us = 0;      // What of that keeps links busy: a sending link's latency does not, a route's does.

  // What a transfer of so many bytes takes, and for how long it keeps links busy.
  double TransferUs(int64_t bytes) const { return fixed_us + us_per_byte * static_cast<double>(bytes); }
  double BusyUs(int64_t bytes) const { return busy_us + us_per_byte * static_cast<double>(bytes); }
};
MeanLink MeanLinkOf(const SimGraph& graph);

}  // namespace emplace
