#include "simulator/engine/mean_link.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

TEST(MeanLink, IsTheDevicesOwnLinkWithoutATopology) {
  SimGraph graph;
  graph.num_devices = 3;
  graph.bandwidth_bytes_per_us = 4;
  graph.transfer_overhead_us = 25;
  for (const LinkModel model : {LinkModel::kShared, LinkModel::kPerDestination}) {
    graph.link_model = model;
    EXPECT_NEAR(MeanLinkOf(graph).us_per_byte, 0.25, 1e-12);
    EXPECT_NEAR(MeanLinkOf(graph).fixed_us, 25, 1e-12);
    EXPECT_NEAR(MeanLinkOf(graph).busy_us, 25, 1e-12);
  }
}

TEST(MeanLink, IsBusyForItsOverheadAndNotForItsLatency) {
  SimGraph graph;
  graph.num_devices = 2;
  graph.transfer_latency_us = 10;
  graph.transfer_overhead_us = 3;
  EXPECT_NEAR(MeanLinkOf(graph).fixed_us, 13, 1e-12);
  EXPECT_NEAR(MeanLinkOf(graph).busy_us, 3, 1e-12);
}

TEST(MeanLink, IsTheMeanOverPairsWithATopology) {
  // From 0 to 1: 2 bytes/us after 10 us; from 1 to 0: 8 bytes/us after 20 us. Per byte (1/2 + 1/8) / 2 us; beside that
  // (10 + 20) / 2 us and the overhead of 1 us. What stands in the pairs of a device with itself is not used.
  SimGraph graph;
  graph.num_devices = 2;
  graph.link_model = LinkModel::kTopology;
  graph.transfer_overhead_us = 1;
  graph.routes.bandwidth_bytes_per_us = {0, 2, 8, 0};
  graph.routes.latency_us = {0, 10, 20, 0};
  EXPECT_NEAR(MeanLinkOf(graph).us_per_byte, 0.3125, 1e-12);
  EXPECT_NEAR(MeanLinkOf(graph).fixed_us, 16, 1e-12);
  EXPECT_NEAR(MeanLinkOf(graph).busy_us, 16, 1e-12);
}

TEST(MeanLink, IsZeroForOneDevice) {
  SimGraph graph;
  graph.num_devices = 1;
  graph.transfer_overhead_us = 25;
  EXPECT_EQ(MeanLinkOf(graph).us_per_byte, 0);
  EXPECT_EQ(MeanLinkOf(graph).fixed_us, 0);
}

}  // namespace
}  // namespace emplace
