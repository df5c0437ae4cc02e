// A simulated run as the rows of a display: which links a transfer keeps busy, whose tensor it is, and the memory that
// each device holds over time. What the trace and the report draw in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/cluster.h"
#include "simulator/sim_graph.h"
#include "simulator/timeline.h"

namespace emplace {

// The sending link of each device ("link of gpu:0"); with a topology each direction of each link ("nvlink0, gpu:0 to
// gpu:1").
std::vector<std::string> LinkNames(const Cluster& cluster);
// The links, as indices into LinkNames, that a transfer occupies.
std::vector<int32_t> LinksOf(const SimGraph& sim, const Transfer& transfer);

// [T] the op that makes each tensor.
std::vector<OpIndex> TensorProducers(const SimGraph& sim);

// A device holds `bytes` from this time until the next sample.
struct MemorySample {
  double time_us = 0;
  int64_t bytes = 0;
};
// [D] by the rule of peak memory, so that a device's highest sample is its reported peak: up to two samples at a time,
// one after what is taken and one after what is released. REQUIRES: timeline is the run of `placement`.
std::vector<std::vector<MemorySample>> MemoryOverTime(const SimGraph& sim, std::span<const DeviceIndex> placement,
                                                      const Timeline& timeline);

}  // namespace emplace
