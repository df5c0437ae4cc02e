#include "simulator/instances/random_machine.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "common/strings.h"
#include "simulator/instances/draws.h"

namespace emplace {
namespace {

// In bytes per us: 1 to 600 GB/s.
constexpr double kLeastBandwidth = 1e3;
constexpr double kMostBandwidth = 6e5;
constexpr double kMostLatencyUs = 50;  // Of a whole route.

// Zero in this share of the draws.
double DrawOverhead(Rng& rng, double zero_share, double low, double high) {
  return Chance(rng, zero_share) ? 0 : LogUniform(rng, low, high);
}

// The kind of each device; the devices of a kind follow each other in half of the machines.
std::vector<size_t> DrawKinds(Rng& rng, int32_t devices) {
  constexpr std::array<double, 4> kShares = {0.5, 0.25, 0.15, 0.1};
  const auto kinds = std::min(static_cast<int64_t>(devices), 1 + static_cast<int64_t>(rng.Categorical(kShares)));
  std::vector<size_t> kind_of;
  for (int32_t device = 0; device < devices; ++device)
    kind_of.push_back(static_cast<size_t>(device < kinds ? device : rng.UniformInt(0, kinds - 1)));
  if (Chance(rng, 0.5)) {
    std::ranges::sort(kind_of);
  } else {
    Shuffle(rng, kind_of);
  }
  return kind_of;
}

// Hosts whose devices hang on a switch of the host, some of them also on fast links between each other (islands); the
// switches hang on a network.
class HierarchyDrawer {
 public:
  HierarchyDrawer(Rng& rng, const std::vector<Device>& devices)
      : rng_(rng), devices_(static_cast<int32_t>(devices.size())) {
    for (const Device& device : devices) topology_.nodes.push_back(device.name);
  }

  Topology Draw() {
    const int32_t hosts = devices_ < 4 || Chance(rng_, 0.35) ? 1 : static_cast<int32_t>(rng_.UniformInt(2, 4));
    const int32_t per_host = (devices_ + hosts - 1) / hosts;
    constexpr std::array<int32_t, 4> kIslands = {1, 1, 2, 4};
    const int32_t island = OneOf(rng_, kIslands);
    const double network_bandwidth = LogUniform(rng_, kLeastBandwidth, 25e3);
    const double host_bandwidth = LogUniform(rng_, network_bandwidth, 64e3);
    const double island_bandwidth = LogUniform(rng_, host_bandwidth, kMostBandwidth);
    const double host_latency = DrawOverhead(rng_, 0.25, 0.5, kMostLatencyUs / 6);
    const double network_latency = DrawOverhead(rng_, 0.25, 0.5, kMostLatencyUs / 3);
    std::vector<int32_t> switches;
    for (int32_t first = 0; first < devices_; first += per_host) {
      const int32_t last = std::min(devices_, first + per_host);
      switches.push_back(AddNode(StrCat("host:", switches.size())));
      for (int32_t d = first; d < last; ++d) AddLink("pcie", d, switches.back(), host_bandwidth, host_latency);
      for (int32_t a = first; a < last; ++a) {
        for (int32_t b = a + 1; b < last && (b - first) / island == (a - first) / island; ++b)
          AddLink("nvlink", a, b, island_bandwidth, host_latency);
      }
    }
    if (switches.size() > 1) {
      const int32_t network = AddNode("network");
      for (const int32_t host : switches) AddLink("net", host, network, network_bandwidth, network_latency);
    }
    return std::move(topology_);
  }

 private:
  int32_t AddNode(const std::string& name) {
    topology_.nodes.push_back(name);
    return static_cast<int32_t>(topology_.nodes.size()) - 1;
  }
  void AddLink(const std::string& name, int32_t a, int32_t b, double bandwidth, double latency_us) {
    topology_.links.push_back({StrCat(name, topology_.links.size()), a, b, bandwidth, latency_us});
  }

  Rng& rng_;
  const int32_t devices_;
  Topology topology_;
};

void DrawLinks(Rng& rng, Cluster& cluster) {
  constexpr std::array<double, 3> kShares = {0.35, 0.25, 0.4};  // As of LinkModel.
  cluster.link_model = static_cast<LinkModel>(rng.Categorical(kShares));
  cluster.transfer_overhead_us = DrawOverhead(rng, 0.4, 1, 30);
  if (cluster.link_model == LinkModel::kTopology) {
    cluster.topology = HierarchyDrawer(rng, cluster.devices).Draw();
    return;
  }
  cluster.bandwidth_bytes_per_us = LogUniform(rng, kLeastBandwidth, kMostBandwidth);
  cluster.transfer_latency_us = DrawOverhead(rng, 0.25, 0.5, kMostLatencyUs);
}

}  // namespace

std::string KindName(size_t kind) { return {static_cast<char>('a' + static_cast<int>(kind))}; }

RandomMachine DrawMachine(Rng& rng, int32_t min_devices, int32_t max_devices) {
  RandomMachine machine;
  const auto devices = static_cast<int32_t>(rng.UniformInt(min_devices, max_devices));
  const std::vector<size_t> kinds = DrawKinds(rng, devices);
  std::vector<int64_t> memory;  // Of each kind.
  for (size_t kind = 0; kind <= *std::ranges::max_element(kinds); ++kind) {
    machine.speeds.push_back(LogUniform(rng, 1, 8));
    memory.push_back(kMemoryUnit << rng.UniformInt(0, 2));
  }
  for (const size_t kind : kinds) {
    const std::string name = StrCat("gpu:", machine.cluster.devices.size());
    machine.cluster.devices.push_back({.name = name, .kind = KindName(kind), .memory_bytes = memory[kind]});
  }
  machine.cluster.op_overhead_us = DrawOverhead(rng, 0.4, 0.5, 10);
  DrawLinks(rng, machine.cluster);
  return machine;
}

double MeanUsPerByte(const Cluster& cluster) {
  if (cluster.link_model != LinkModel::kTopology) return 1 / cluster.bandwidth_bytes_per_us;
  const int32_t devices = cluster.num_devices();
  const Routes routes = FindRoutes(cluster.topology, devices);
  double sum = 0;
  for (int32_t from = 0; from < devices; ++from) {
    for (int32_t to = 0; to < devices; ++to) {
      if (from != to) sum += 1 / routes.bandwidth_bytes_per_us[static_cast<size_t>(from * devices + to)];
    }
  }
  return sum / (devices * (devices - 1));
}

}  // namespace emplace
