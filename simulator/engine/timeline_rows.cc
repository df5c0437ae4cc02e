#include "simulator/engine/timeline_rows.h"

#include <map>

#include "simulator/engine/peak_memory.h"

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

std::vector<OpIndex> TensorProducers(const SimGraph& sim) {
  std::vector<OpIndex> producers(sim.tensor_bytes.size());
  for (OpIndex o = 0; o < sim.num_ops; ++o) {
    const auto i = static_cast<size_t>(o);
    for (int32_t t = sim.tensor_begin[i]; t < sim.tensor_begin[i + 1]; ++t) producers[static_cast<size_t>(t)] = o;
  }
  return producers;
}

std::vector<std::vector<MemorySample>> MemoryOverTime(const SimGraph& sim, std::span<const DeviceIndex> placement,
                                                      const Timeline& timeline) {
  struct Change {
    int64_t taken = 0;
    int64_t released = 0;
  };
  std::vector<std::map<double, Change>> changes(static_cast<size_t>(sim.num_devices));
  for (OpIndex o = 0; o < sim.num_ops; ++o) {
    const auto i = static_cast<size_t>(o);
    std::map<double, Change>& device = changes[static_cast<size_t>(placement[i])];
    device[0].taken += sim.param_bytes[i];
    device[timeline.start_us[i]].taken += sim.output_bytes[i] + sim.temp_bytes[i];
    device[timeline.finish_us[i]].released += sim.temp_bytes[i];
    device[HeldUntil(sim, o, placement, timeline.start_us)].released += sim.output_bytes[i];
  }
  std::vector<std::vector<MemorySample>> samples(changes.size());
  for (size_t d = 0; d < changes.size(); ++d) {
    int64_t held = 0;
    for (const auto& [time_us, change] : changes[d]) {
      if (change.taken > 0) samples[d].push_back({time_us, held += change.taken});
      if (change.released > 0) samples[d].push_back({time_us, held -= change.released});
    }
  }
  return samples;
}

}  // namespace emplace
