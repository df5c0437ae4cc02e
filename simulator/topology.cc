#include "simulator/topology.h"

#include <algorithm>
#include <limits>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The routes from every device to one. What comes later in the order of preference is only looked for among what is best by
// all that comes before: a narrow beginning can belong to the best route, so a single pass over whole labels would not do.
class RoutesTo {
 public:
  RoutesTo(const Topology& topology, int32_t num_devices, int32_t to)
      : topology_(topology),
        num_devices_(num_devices),
        to_(to),
        latency_(topology.nodes.size(), kInfinity),
        width_(topology.nodes.size(), 0),
        links_left_(topology.nodes.size()) {
    latency_[Index(to)] = 0;
    ImproveUntilStable([this](int32_t channel) {
      return Lower(latency_[Index(Source(channel))], Link(channel).latency_us + latency_[Index(Target(channel))]);
    });
    width_[Index(to)] = kInfinity;
    ImproveUntilStable([this](int32_t channel) {
      if (!IsFastest(channel)) return false;
      const double width = std::min(Link(channel).bandwidth_bytes_per_us, width_[Index(Target(channel))]);
      double& best = width_[Index(Source(channel))];
      if (width <= best) return false;
      best = width;
      return true;
    });
  }

  double Latency(int32_t from) const { return latency_[Index(from)]; }
  double Bandwidth(int32_t from) const { return width_[Index(from)]; }

  // The channels from `from`, another device, in order; empty when no route leads.
  std::vector<int32_t> Channels(int32_t from) {
    if (latency_[Index(from)] == kInfinity) return {};
    const double width = width_[Index(from)];
    const auto is_best = [&](int32_t channel) {
      return IsFastest(channel) && Link(channel).bandwidth_bytes_per_us >= width;
    };
    std::fill(links_left_.begin(), links_left_.end(), kInfinity);
    links_left_[Index(to_)] = 0;
    ImproveUntilStable([&](int32_t channel) {
      return is_best(channel) && Lower(links_left_[Index(Source(channel))], 1 + links_left_[Index(Target(channel))]);
    });
    std::vector<int32_t> route;
    for (int32_t node = from; node != to_; node = Target(route.back())) {
      int32_t channel = 0;
      while (Source(channel) != node || !MayEnter(Target(channel)) || !is_best(channel) ||
             links_left_[Index(Target(channel))] + 1 != links_left_[Index(node)]) {
        ++channel;
      }
      route.push_back(channel);
    }
    return route;
  }

 private:
  static size_t Index(int32_t i) { return static_cast<size_t>(i); }
  const TopologyLink& Link(int32_t channel) const { return topology_.links[Index(channel / 2)]; }
  int32_t Source(int32_t channel) const { return channel % 2 == 0 ? Link(channel).a : Link(channel).b; }
  int32_t Target(int32_t channel) const { return channel % 2 == 0 ? Link(channel).b : Link(channel).a; }
  bool MayEnter(int32_t node) const { return node >= num_devices_ || node == to_; }
  bool IsFastest(int32_t channel) const {
    return Link(channel).latency_us + latency_[Index(Target(channel))] == latency_[Index(Source(channel))];
  }
  static bool Lower(double& value, double candidate) {
    if (!(candidate < value)) return false;
    value = candidate;
    return true;
  }
  template <typename Improve>
  void ImproveUntilStable(Improve improve) const {
    for (bool improved = true; improved;) {
      improved = false;
      for (int32_t channel = 0; channel < 2 * static_cast<int32_t>(topology_.links.size()); ++channel) {
        if (MayEnter(Target(channel)) && improve(channel)) improved = true;
      }
    }
  }

  const Topology& topology_;
  const int32_t num_devices_;
  const int32_t to_;
  // By node, towards to_.
  std::vector<double> latency_;     // us; infinity: unreachable
  std::vector<double> width_;       // Bytes per us of the slowest link, on the widest of the fastest ways.
  std::vector<double> links_left_;  // Of one source's best ways.
};

}  // namespace

Routes FindRoutes(const Topology& topology, int32_t num_devices) {
  const auto devices = static_cast<size_t>(num_devices);
  EMPLACE_CHECK(devices <= topology.nodes.size());
  Routes routes;
  routes.num_channels = 2 * static_cast<int32_t>(topology.links.size());
  routes.latency_us.resize(devices * devices);
  routes.bandwidth_bytes_per_us.resize(devices * devices);
  std::vector<std::vector<int32_t>> rows(devices * devices);
  for (int32_t to = 0; to < num_devices; ++to) {
    RoutesTo routes_to(topology, num_devices, to);
    for (int32_t from = 0; from < num_devices; ++from) {
      if (from == to) continue;
      const size_t pair = static_cast<size_t>(from) * devices + static_cast<size_t>(to);
      rows[pair] = routes_to.Channels(from);
      routes.latency_us[pair] = routes_to.Latency(from);
      routes.bandwidth_bytes_per_us[pair] = routes_to.Bandwidth(from);
    }
  }
  for (const std::vector<int32_t>& row : rows) {
    routes.channels.items.insert(routes.channels.items.end(), row.begin(), row.end());
    routes.channels.begin.push_back(static_cast<int32_t>(routes.channels.items.size()));
  }
  return routes;
}

std::string ChannelName(const Topology& topology, int32_t channel) {
  const TopologyLink& link = topology.links[static_cast<size_t>(channel / 2)];
  const std::string& a = topology.nodes[static_cast<size_t>(link.a)];
  const std::string& b = topology.nodes[static_cast<size_t>(link.b)];
  return channel % 2 == 0 ? StrCat(link.name, ", ", a, " to ", b) : StrCat(link.name, ", ", b, " to ", a);
}

}  // namespace emplace
