// Finds the route between two devices by its definition: the best of all simple paths over switches and hosts.
#pragma once

#include <vector>

#include "simulator/machine/topology.h"

namespace emplace {

struct NaiveRoute {
  std::vector<int32_t> channels;  // Empty when there is no route.
  double latency_us = 0;
  double bandwidth_bytes_per_us = 0;
};

// Takes time exponential in the number of nodes.
NaiveRoute FindNaiveRoute(const Topology& topology, int32_t num_devices, int32_t from, int32_t to);

}  // namespace emplace
