// Links between devices, switches and hosts, and the route that each pair of devices uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"

namespace emplace {

inline constexpr int32_t kMaxTopologyLinks = 4096;
inline constexpr size_t kMaxRouteChannels =
    size_t{1} << 22;  // Of all pairs: 64 for each where the devices are as many as can be.

// Full duplex: link l is the channels 2 l, from a to b, and 2 l + 1, from b to a, which do not disturb each other.
struct TopologyLink {
  std::string name;  // "nvlink0", unique
  int32_t a = 0;     // Nodes.
  int32_t b = 0;
  double bandwidth_bytes_per_us = 0;  // Of each direction, > 0.
  double latency_us = 0;
};

struct Topology {
  std::vector<std::string> nodes;   // The cluster's devices in their order, then switches and hosts.
  std::vector<TopologyLink> links;  // At most kMaxTopologyLinks.
};

// What the simulator needs of a topology. D devices; row from * D + to. A device's row to itself is empty and never
// used.
struct Routes {
  int32_t num_channels = 0;
  Csr channels;                                // [D * D] on the way, in order; empty where no route leads
  std::vector<double> latency_us;              // [D * D] sum over the route
  std::vector<double> bandwidth_bytes_per_us;  // [D * D] of its slowest link

  bool operator==(const Routes&) const = default;
};

// The route of a pair: least sum of latencies, then greatest bandwidth of the slowest link, then fewest links, then
// lowest link indices, compared from the source on. It passes through switches and hosts only: a device does not
// forward. REQUIRES: the first num_devices nodes are the devices. Throws BadInput when the routes have more than
// kMaxRouteChannels channels in all.
Routes FindRoutes(const Topology& topology, int32_t num_devices);

// "nvlink0, gpu:0 to gpu:1"
std::string ChannelName(const Topology& topology, int32_t channel);

}  // namespace emplace
