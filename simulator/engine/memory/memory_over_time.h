// The memory that each device holds in a simulated run, over time. Written for the trace and the report, apart from
// what finds peaks in a search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/sim_graph.h"
#include "simulator/engine/timeline.h"

namespace emplace {

// A device holds `bytes` from this time until the next sample.
struct MemorySample {
  double time_us = 0;
  int64_t bytes = 0;
};
// The samples of each device [D], by the graph's rule, so that a device's highest sample is its reported peak. By
// Placeto's rule a time has up to two samples: one after memory is taken, and one after memory is released. REQUIRES:
// `timeline` is what Simulator::Run gives for `placement`.
std::vector<std::vector<MemorySample>> MemoryOverTime(const SimGraph& sim, std::span<const DeviceIndex> placement,
                                                      const Timeline& timeline);

}  // namespace emplace
