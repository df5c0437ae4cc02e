// A simulated run as rows of a display, for the trace and the report: the links that a transfer occupies, the op that
// made its tensor, and the memory that each device holds over time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/engine/sim_graph.h"
#include "simulator/engine/timeline.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// The name of each device's sending link ("link of gpu:0"), or, with a topology, of each direction of each link
// ("nvlink0, gpu:0 to gpu:1").
std::vector<std::string> LinkNames(const Cluster& cluster);
// The links that a transfer occupies, as indices into LinkNames.
std::vector<int32_t> LinksOf(const SimGraph& sim, const Transfer& transfer);

// [T] the op that makes each tensor.
std::vector<OpIndex> TensorProducers(const SimGraph& sim);

// A device holds `bytes` from this time until the next sample.
struct MemorySample {
  double time_us = 0;
  int64_t bytes = 0;
};
// The samples of each device [D], by the rule of peak_memory.h, so that a device's highest sample is its reported peak.
// A time has up to two samples: one after memory is taken, and one after memory is released. REQUIRES: `timeline` is
// the run of `placement`.
std::vector<std::vector<MemorySample>> MemoryOverTime(const SimGraph& sim, std::span<const DeviceIndex> placement,
                                                      const Timeline& timeline);

}  // namespace emplace
