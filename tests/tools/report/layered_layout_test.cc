#include "tools/report/layered_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/rng.h"

namespace emplace {
namespace {

TEST(LayeredLayout, EmptyAndSingle) {
  EXPECT_EQ(LayOut(0, {}).num_layers, 0);
  const LayeredLayout one = LayOut(1, {});
  EXPECT_EQ(one.num_layers, 1);
  EXPECT_EQ(one.position[0], 0);
}

TEST(LayeredLayout, ASourceStandsRightBeforeItsReader) {
  // 0 -> 1 -> 3 and 2 -> 3: 2 belongs beside 1, not beside 0.
  EXPECT_EQ(LayOut(4, {{0, 1}, {1, 3}, {2, 3}}).layer, (std::vector<int32_t>{0, 1, 1, 2}));
}

TEST(LayeredLayout, TwoChainsDoNotCross) {
  const LayeredLayout layout = LayOut(6, {{0, 3}, {1, 2}, {2, 5}, {3, 4}});  // 0-3-4 and 1-2-5
  EXPECT_EQ(layout.position[0] < layout.position[1], layout.position[3] < layout.position[2]);
  EXPECT_EQ(layout.position[3] < layout.position[2], layout.position[4] < layout.position[5]);
}

TEST(LayeredLayout, HoldsItsPromisesOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const auto nodes = static_cast<int32_t>(rng.UniformInt(1, 60));
    std::vector<std::pair<int32_t, int32_t>> edges;
    for (int32_t to = 1; to < nodes; ++to) {
      for (int64_t e = rng.UniformInt(0, 3); e > 0; --e)
        edges.push_back({static_cast<int32_t>(rng.UniformInt(0, to - 1)), to});
    }
    const LayeredLayout layout = LayOut(nodes, edges);
    for (const auto& [from, to] : edges) {
      EXPECT_LT(layout.layer[static_cast<size_t>(from)], layout.layer[static_cast<size_t>(to)]) << seed;
    }
    std::map<int32_t, std::vector<double>> layers;
    for (size_t n = 0; n < layout.layer.size(); ++n) layers[layout.layer[n]].push_back(layout.position[n]);
    EXPECT_EQ(static_cast<int32_t>(layers.size()), layout.num_layers) << seed;
    for (auto& [layer, positions] : layers) {
      std::sort(positions.begin(), positions.end());
      EXPECT_GE(positions.front(), 0) << seed;
      for (size_t i = 1; i < positions.size(); ++i) EXPECT_GE(positions[i] - positions[i - 1], 1 - 1e-9) << seed;
    }
  }
}

}  // namespace
}  // namespace emplace
