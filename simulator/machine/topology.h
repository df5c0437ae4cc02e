// Links between devices, switches and hosts, and the route that each pair of devices uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"

namespace emplace {

inline constexpr int32_t kMaxTopologyLinks = 4096;
// Upper limit of the channels in the routes of all pairs of devices: 64 for each pair of kMaxDevices devices.
inline constexpr size_t kMaxRouteChannels = size_t{1} << 22;

// A full-duplex link. Link l has two channels that do not disturb each other: 2 l from a to b, and 2 l + 1 from b to a.
struct TopologyLink {
  std::string name;  // "nvlink0", unique
  int32_t a = 0;     // Index of a node, as b.
  int32_t b = 0;
  double bandwidth_bytes_per_us = 0;  // In each direction; > 0.
  double latency_us = 0;
};

struct Topology {
  std::vector<std::string> nodes;   // The cluster's devices in their order, then switches and hosts.
  std::vector<TopologyLink> links;  // At most kMaxTopologyLinks.
};

// The routes of a topology, for the simulator. With D devices, row from * D + to is the route of a pair. The row of a
// device to itself is empty and not used.
struct Routes {
  int32_t num_channels = 0;
  Csr channels;                                // [D * D] channels of the route, in order; empty if there is no route
  std::vector<double> latency_us;              // [D * D] sum over the route
  std::vector<double> bandwidth_bytes_per_us;  // [D * D] bandwidth of the slowest link

  bool operator==(const Routes&) const = default;
};

// Finds the route of each pair of devices: that with the least sum of latencies, then the greatest bandwidth of the
// slowest link, then the fewest links, then the lowest link indices, compared from the source on. A route passes
// through switches and hosts only, because a device does not forward. REQUIRES: the first num_devices nodes are the
// devices. Throws BadInput when the routes have more than kMaxRouteChannels channels in all.
Routes FindRoutes(const Topology& topology, int32_t num_devices);

// The routes of devices that have one sending link each, of channel `from`, with these times for every pair.
Routes RoutesOfSenders(int32_t num_devices, double latency_us, double bandwidth_bytes_per_us);

// "nvlink0, gpu:0 to gpu:1"
std::string ChannelName(const Topology& topology, int32_t channel);

}  // namespace emplace
