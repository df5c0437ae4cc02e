#include "simulator/engine/timeline_rows.h"

namespace emplace {

std::vector<std::string> LinkNames(const Cluster& cluster) {
  std::vector<std::string> names;
  if (cluster.link_model == LinkModel::kTopology) {
    const auto channels = static_cast<int32_t>(2 * cluster.topology.links.size());
    for (int32_t c = 0; c < channels; ++c) names.push_back(ChannelName(cluster.topology, c));
  } else {
    for (const Device& device : cluster.devices) names.push_back("link of " + device.name);
  }
  return names;
}

std::vector<int32_t> LinksOf(const SimGraph& sim, const Transfer& transfer) {
  if (sim.link_model != LinkModel::kTopology) return {transfer.from};
  const std::span<const int32_t> route = sim.routes.channels.Row(transfer.from * sim.num_devices + transfer.to);
  return {route.begin(), route.end()};
}

}  // namespace emplace
