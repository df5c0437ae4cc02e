#include "simulator/machine/topology.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <span>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t Index(int32_t i) { return static_cast<size_t>(i); }

int32_t Source(const Topology& topology, int32_t channel) {
  const TopologyLink& link = topology.links[Index(channel / 2)];
  return channel % 2 == 0 ? link.a : link.b;
}
int32_t Target(const Topology& topology, int32_t channel) { return Source(topology, channel ^ 1); }

// Row n: the channels whose `end` is node n, ascending.
template <typename End>
Csr ChannelsAt(const Topology& topology, End end) {
  return CsrFromPairs(static_cast<int32_t>(topology.nodes.size()), [&](auto visit) {
    for (int32_t channel = 0; channel < 2 * static_cast<int32_t>(topology.links.size()); ++channel)
      visit(end(topology, channel), channel);
  });
}

// A topology with what is asked of it again and again.
struct Network {
  const Topology& topology;
  int32_t num_devices;
  Csr out_of = ChannelsAt(topology, Source);  // By node.
  Csr into = ChannelsAt(topology, Target);    // By node.
};

// The routes from every device to one. What comes later in the order of preference is only looked for among what is
// best by all that comes before: a narrow beginning can belong to the best route, so a single pass over whole labels
// would not do.
class RoutesTo {
 public:
  RoutesTo(const Network& network, int32_t to)
      : network_(network),
        to_(to),
        latency_(network.topology.nodes.size(), kInfinity),
        width_(network.topology.nodes.size(), 0) {
    latency_[Index(to)] = 0;
    Settle(latency_, std::less<>(), [this](int32_t channel, double rest) { return LatencyOf(channel) + rest; });
    width_[Index(to)] = kInfinity;
    Settle(width_, std::greater<>(), [this](int32_t channel, double rest) {
      return IsFastest(channel) ? std::min(Link(channel).bandwidth_bytes_per_us, rest) : 0;
    });
  }

  bool Leads(int32_t from) const { return latency_[Index(from)] < kInfinity; }
  double Bandwidth(int32_t from) const { return width_[Index(from)]; }

  // The channels from `from`, another device, in order; empty when no route leads.
  std::vector<int32_t> Channels(int32_t from) {
    if (!Leads(from)) return {};
    const double width = width_[Index(from)];
    const auto is_best = [&](int32_t channel) {
      return IsFastest(channel) && Link(channel).bandwidth_bytes_per_us >= width;
    };
    std::vector<double>& links_left = links_left_[width];
    if (links_left.empty()) {
      links_left.assign(width_.size(), kInfinity);
      links_left[Index(to_)] = 0;
      Settle(links_left, std::less<>(),
             [&](int32_t channel, double rest) { return is_best(channel) ? 1 + rest : kInfinity; });
    }
    std::vector<int32_t> route;
    for (int32_t node = from; node != to_; node = TargetOf(route.back())) {
      const std::span<const int32_t> ways = network_.out_of.Row(node);
      const auto next = std::ranges::find_if(ways, [&](int32_t channel) {
        const int32_t target = TargetOf(channel);
        return MayEnter(target) && is_best(channel) && links_left[Index(target)] + 1 == links_left[Index(node)];
      });
      EMPLACE_CHECK(next != ways.end());
      route.push_back(*next);
    }
    return route;
  }

 private:
  const TopologyLink& Link(int32_t channel) const { return network_.topology.links[Index(channel / 2)]; }
  int32_t SourceOf(int32_t channel) const { return Source(network_.topology, channel); }
  int32_t TargetOf(int32_t channel) const { return Target(network_.topology, channel); }
  bool MayEnter(int32_t node) const { return node >= network_.num_devices || node == to_; }
  // In steps so small that they make no difference, so that equal sums are equal whatever is added first.
  double LatencyOf(int32_t channel) const { return std::round(Link(channel).latency_us * 0x1p20) * 0x1p-20; }
  bool IsFastest(int32_t channel) const {
    return LatencyOf(channel) + latency_[Index(TargetOf(channel))] == latency_[Index(SourceOf(channel))];
  }

  // Dijkstra's algorithm from to_ backwards: `through(channel, rest)` is what a way comes to that begins with the
  // channel and whose rest has the value `rest`. Never better than the rest, so that each node is done when it is
  // taken.
  template <typename Better, typename Through>
  void Settle(std::vector<double>& values, Better better, Through through) const {
    using Open = std::pair<double, int32_t>;
    const auto later = [better](const Open& a, const Open& b) { return better(b.first, a.first); };
    std::priority_queue<Open, std::vector<Open>, decltype(later)> open(later);
    open.push({values[Index(to_)], to_});
    while (!open.empty()) {
      const auto [value, node] = open.top();
      open.pop();
      if (value != values[Index(node)] || !MayEnter(node)) continue;  // Improved since, or no way leads through it.
      for (const int32_t channel : network_.into.Row(node)) {
        const double candidate = through(channel, value);
        double& known = values[Index(SourceOf(channel))];
        if (!better(candidate, known)) continue;
        known = candidate;
        open.push({candidate, SourceOf(channel)});
      }
    }
  }

  const Network& network_;
  const int32_t to_;
  // By node, towards to_.
  std::vector<double> latency_;  // us; infinity: unreachable
  std::vector<double> width_;    // Bytes per us of the slowest link, on the widest of the fastest ways.
  std::map<double, std::vector<double>> links_left_;  // On the best ways whose slowest link is so wide.
};

double LatencyUs(const Topology& topology, const std::vector<int32_t>& route) {
  double sum = 0;
  for (auto channel = route.rbegin(); channel != route.rend(); ++channel) {
    sum += topology.links[Index(*channel / 2)].latency_us;
  }
  return sum;
}

}  // namespace

Routes FindRoutes(const Topology& topology, int32_t num_devices) {
  const auto devices = static_cast<size_t>(num_devices);
  EMPLACE_CHECK(devices <= topology.nodes.size());
  const Network network{topology, num_devices};
  Routes routes;
  routes.num_channels = 2 * static_cast<int32_t>(topology.links.size());
  routes.latency_us.resize(devices * devices);
  routes.bandwidth_bytes_per_us.resize(devices * devices);
  std::vector<std::vector<int32_t>> rows(devices * devices);
  size_t channels = 0;
  for (int32_t to = 0; to < num_devices; ++to) {
    RoutesTo routes_to(network, to);
    for (int32_t from = 0; from < num_devices; ++from) {
      if (from == to) continue;
      const size_t pair = static_cast<size_t>(from) * devices + static_cast<size_t>(to);
      rows[pair] = routes_to.Channels(from);
      channels += rows[pair].size();
      if (channels > kMaxRouteChannels) {
        throw BadInput(StrCat("the routes between all devices pass more than ", kMaxRouteChannels,
                              " links, expected shorter ones"));
      }
      routes.latency_us[pair] = routes_to.Leads(from) ? LatencyUs(topology, rows[pair]) : kInfinity;
      routes.bandwidth_bytes_per_us[pair] = routes_to.Bandwidth(from);
    }
  }
  routes.channels = CsrFromRows(rows);
  return routes;
}

Routes RoutesOfSenders(int32_t num_devices, double latency_us, double bandwidth_bytes_per_us) {
  const auto pairs = static_cast<size_t>(num_devices) * static_cast<size_t>(num_devices);
  Routes routes;
  routes.num_channels = num_devices;
  routes.latency_us.assign(pairs, latency_us);
  routes.bandwidth_bytes_per_us.assign(pairs, bandwidth_bytes_per_us);
  for (int32_t from = 0; from < num_devices; ++from) {
    for (int32_t to = 0; to < num_devices; ++to) {
      if (from != to) routes.channels.items.push_back(from);
      routes.channels.begin.push_back(static_cast<int32_t>(routes.channels.items.size()));
    }
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
