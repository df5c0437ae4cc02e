#include "simulator/graph/device_costs.h"

#include <gtest/gtest.h>

#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(DeviceCosts, AreThoseOfEachDevicesKind) {
  int forbidden = 0;
  for (uint64_t seed = 0; seed < Trials(50); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 40, .restricted = 0.3});
    DeviceCosts costs(source.cluster);
    for (const Op& op : source.graph.ops()) {
      const std::span<const double> us = costs.Of(op);
      ASSERT_EQ(us.size(), source.cluster.devices.size());
      for (size_t device = 0; device < us.size(); ++device) {
        const std::string& kind = source.cluster.devices[device].kind;
        ASSERT_EQ(MayRunAt(us[device]), op.AllowedOn(kind));
        if (op.AllowedOn(kind)) {
          ASSERT_EQ(us[device], *op.cost.On(kind));
        }
        forbidden += op.AllowedOn(kind) ? 0 : 1;
      }
    }
  }
  EXPECT_GT(forbidden, 0);
}

}  // namespace
}  // namespace emplace
