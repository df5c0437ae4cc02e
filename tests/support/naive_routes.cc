#include "tests/support/naive_routes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

namespace emplace {

NaiveRoute FindNaiveRoute(const Topology& topology, int32_t num_devices, int32_t from, int32_t to) {
  // Compared in the order of preference; the bandwidth negated, for more is better.
  using Key = std::tuple<double, double, size_t, std::vector<int32_t>>;
  std::vector<Key> found;
  std::set<int32_t> visited = {from};
  const std::function<void(int32_t, double, double, std::vector<int32_t>)> walk =
      [&](int32_t node, double latency, double bandwidth, const std::vector<int32_t>& channels) {
        if (node == to) {
          found.push_back({latency, -bandwidth, channels.size(), channels});
          return;
        }
        if (node < num_devices && node != from) return;
        for (size_t l = 0; l < topology.links.size(); ++l) {
          const TopologyLink& link = topology.links[l];
          if (link.a != node && link.b != node) continue;
          const int32_t next = link.a == node ? link.b : link.a;
          if (!visited.insert(next).second) continue;
          std::vector<int32_t> longer = channels;
          longer.push_back(static_cast<int32_t>(2 * l) + (link.a == node ? 0 : 1));
          walk(next, latency + link.latency_us, std::min(bandwidth, link.bandwidth_bytes_per_us), longer);
          visited.erase(next);
        }
      };
  walk(from, 0, std::numeric_limits<double>::infinity(), {});
  if (found.empty()) return {};
  const auto& [latency, negated_bandwidth, hops, channels] = *std::min_element(found.begin(), found.end());
  return {channels, latency, -negated_bandwidth};
}

}  // namespace emplace
