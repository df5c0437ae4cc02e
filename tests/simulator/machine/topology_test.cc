#include "simulator/machine/topology.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/naive_routes.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// The links, by index, on the way from device 0 to device 1. Nodes from 2 on are switches.
std::vector<int32_t> LinksUsed(std::vector<TopologyLink> links) {
  const Topology topology = {{"a", "b", "s", "t"}, std::move(links)};
  const Routes routes = FindRoutes(topology, 2);
  std::vector<int32_t> used;
  for (const int32_t channel : routes.channels.Row(1)) used.push_back(channel / 2);
  return used;
}

TEST(Topology, TheRouteOfLeastLatencyWins) {
  // Directly 5 us; over a switch 2 + 2 us, although slower and longer.
  EXPECT_EQ(LinksUsed({{"", 0, 1, 900, 5}, {"", 0, 2, 1, 2}, {"", 2, 1, 1, 2}}), (std::vector<int32_t>{1, 2}));
}

TEST(Topology, ThenTheWidestThenTheShortestThenTheFirst) {
  // All 4 us. Over s 50 B/us, over t 60 B/us.
  EXPECT_EQ(LinksUsed({{"", 0, 2, 50, 2}, {"", 2, 1, 90, 2}, {"", 0, 3, 60, 2}, {"", 3, 1, 60, 2}}),
            (std::vector<int32_t>{2, 3}));
  // 60 B/us both, and the direct one is shorter, though the other begins wider.
  EXPECT_EQ(LinksUsed({{"", 0, 2, 90, 2}, {"", 2, 1, 60, 2}, {"", 0, 1, 60, 4}}), (std::vector<int32_t>{2}));
  EXPECT_EQ(LinksUsed({{"", 0, 1, 60, 4}, {"", 1, 0, 60, 4}}), (std::vector<int32_t>{0}));
}

TEST(Topology, LatenciesAreEqualWhateverIsAddedFirst) {
  // Both ways take 0.6 us, though 0.1 + (0.2 + 0.3) and 0.3 + (0.2 + 0.1) are not the same double.
  for (const bool turned : {false, true}) {
    const auto link = [&](int32_t a, int32_t b, double width, double latency) {
      const auto end = [&](int32_t node) { return turned && node < 2 ? 1 - node : node; };
      return TopologyLink{"", end(a), end(b), width, latency};
    };
    const Topology topology = {{"a", "b", "s", "s2", "t", "t2"},
                               {link(0, 4, 1, 0.3), link(4, 5, 1, 0.2), link(5, 1, 1, 0.1), link(0, 2, 1000, 0.1),
                                link(2, 3, 1000, 0.2), link(3, 1, 1000, 0.3)}};
    const Routes routes = FindRoutes(topology, 2);
    for (const int32_t pair : {1, 2}) {
      EXPECT_EQ(routes.bandwidth_bytes_per_us[static_cast<size_t>(pair)], 1000) << turned << pair;
      EXPECT_NEAR(routes.latency_us[static_cast<size_t>(pair)], 0.6, 1e-12);
    }
  }
}

TEST(Topology, ANarrowBeginningMayBelongToTheBestRoute) {
  // To s: directly 50 B/us, or over t 90 B/us. From s on it is 50 B/us either way, so the shorter one wins.
  EXPECT_EQ(LinksUsed({{"", 0, 3, 90, 0}, {"", 3, 2, 90, 0}, {"", 0, 2, 50, 0}, {"", 2, 1, 50, 0}}),
            (std::vector<int32_t>{2, 3}));
}

TEST(Topology, DevicesDoNotForward) {
  const Topology chain = {{"a", "b", "c"}, {{"ab", 0, 1, 100, 1}, {"bc", 1, 2, 100, 1}}};
  const Routes routes = FindRoutes(chain, 3);
  EXPECT_EQ(routes.channels.Row(0 * 3 + 1).size(), 1u);
  EXPECT_TRUE(routes.channels.Row(0 * 3 + 2).empty());
}

// Devices at both ends of a chain of switches whose links stand in the file in the order from one end to the other,
// which passing over all links until nothing changes would take hours for: each pass gets on by one link only.
Topology LongChain(int32_t devices, int32_t switches) {
  Topology topology;
  topology.nodes.resize(static_cast<size_t>(devices + switches));
  for (int32_t s = 1; s < switches; ++s) topology.links.push_back({"", devices + s - 1, devices + s, 1, 1});
  for (int32_t d = 0; d < devices; ++d)
    topology.links.push_back({"", d, d % 2 == 0 ? devices : devices + switches - 1, 1, 1});
  return topology;
}

TEST(Topology, ALongChainIsNoTrouble) {
  const Routes routes = FindRoutes(LongChain(40, 2000), 40);
  EXPECT_EQ(routes.latency_us[0 * 40 + 1], 2001);
  EXPECT_EQ(routes.channels.Row(0 * 40 + 1).size(), 2001u);
  EXPECT_EQ(routes.channels.Row(0 * 40 + 2).size(), 2u);
}

TEST(Topology, RoutesThatFillTheMemoryAreRefused) { EXPECT_THROW(FindRoutes(LongChain(255, 3800), 255), Error); }

TEST(Topology, RoutesAreTheBestOfAllPaths) {
  for (uint64_t seed = 0; seed < Trials(2000); ++seed) {
    Rng rng(seed);
    const Cluster cluster = RandomCluster(rng, {.max_devices = 5, .link_model = LinkModel::kTopology});
    const int32_t devices = cluster.num_devices();
    const Routes routes = FindRoutes(cluster.topology, devices);
    for (int32_t from = 0; from < devices; ++from) {
      for (int32_t to = 0; to < devices; ++to) {
        if (from == to) continue;
        const int32_t pair = from * devices + to;
        const NaiveRoute expected = FindNaiveRoute(cluster.topology, devices, from, to);
        const std::span<const int32_t> route = routes.channels.Row(pair);
        ASSERT_EQ(std::vector<int32_t>(route.begin(), route.end()), expected.channels) << "seed " << seed;
        ASSERT_EQ(routes.latency_us[static_cast<size_t>(pair)], expected.latency_us);
        ASSERT_EQ(routes.bandwidth_bytes_per_us[static_cast<size_t>(pair)], expected.bandwidth_bytes_per_us);
      }
    }
  }
}

}  // namespace
}  // namespace emplace
