#include "simulator/engine/mean_link.h"

#include <cstddef>

namespace emplace {

MeanLink MeanLinkOf(const SimGraph& graph) {
  const auto devices = static_cast<size_t>(graph.num_devices);
  MeanLink mean;
  for (size_t from = 0; from < devices; ++from) {
    for (size_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const double share = 1.0 / static_cast<double>(devices * (devices - 1));
      const LinkTimes link = graph.LinkTimesOf(static_cast<DeviceIndex>(from), static_cast<DeviceIndex>(to));
      mean.fixed_us += share * (link.latency_us + graph.transfer_overhead_us);
      mean.busy_us += share * (link.latency_us + link.busy_after_us);
      mean.us_per_byte += share / link.bandwidth_bytes_per_us;
    }
  }
  return mean;
}

}  // namespace emplace
