#include "simulator/engine/mean_link.h"

#include <cstddef>

namespace emplace {

MeanLink MeanLinkOf(const SimGraph& graph) {
  const auto devices = static_cast<size_t>(graph.num_devices);
  const bool routed = graph.link_model == LinkModel::kTopology;
  MeanLink mean;
  for (size_t from = 0; from < devices; ++from) {
    for (size_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const size_t pair = from * devices + to;
      const double share = 1.0 / static_cast<double>(devices * (devices - 1));
      mean.fixed_us += share * ((routed ? graph.routes.latency_us[pair] : 0) + graph.transfer_overhead_us);
      mean.us_per_byte += share / (routed ? graph.routes.bandwidth_bytes_per_us[pair] : graph.bandwidth_bytes_per_us);
    }
  }
  return mean;
}

}  // namespace emplace
