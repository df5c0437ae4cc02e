#include "simulator/task/equal_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/engine/simulator.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;

TEST(EqualDevices, AreThoseOfOneKindAndMemory) {
  SimGraph sim;
  sim.num_ops = 2;
  sim.num_devices = 5;
  sim.memory_bytes = {8, 8, 8, 4, 8};
  const double none = std::nan("");
  sim.cost_us = {1, 2, 1, 1, 1, none, 3, none, none, 3};
  EXPECT_THAT(EqualDevices(sim), ElementsAre(0, 1, 0, 3, 4));  // Device 4 runs the second op, devices 0 and 2 do not.
  sim.link_model = LinkModel::kTopology;
  EXPECT_THAT(EqualDevices(sim), ElementsAre(0, 1, 2, 3, 4));
}

TEST(EqualDevices, AreNumberedInOrderOfUse) {
  std::vector<uint8_t> groups = {3, 1, 3, 2, 0, 1};
  NumberInOrderOfUse(std::vector<int32_t>{0, 1, 0, 0}, groups);  // Device 1 is unlike the others.
  EXPECT_THAT(groups, ElementsAre(0, 1, 0, 2, 3, 1));
}

TEST(EqualDevices, SwappingThemChangesNoMemoryAndHardlyAnyTime) {
  int swapped = 0;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 30, .max_devices = 3, .memory_bytes = 1000000000});
    const std::vector<int32_t> equal = EqualDevices(task.sim);
    std::vector<uint8_t> groups = RandomGroups(task.groups, rng);
    std::vector<uint8_t> numbered = groups;
    NumberInOrderOfUse(equal, numbered);
    Simulator simulator(task.sim);
    std::vector<DeviceIndex> ops(static_cast<size_t>(task.sim.num_ops));
    const auto simulate = [&](std::span<const uint8_t> placement, std::vector<int64_t>& peak_bytes) {
      task.Expand(placement, ops);
      peak_bytes.resize(static_cast<size_t>(task.sim.num_devices));
      const double makespan_us = simulator.MakespanAndPeak(ops, peak_bytes);
      std::ranges::sort(peak_bytes);
      return makespan_us;
    };
    std::vector<int64_t> before;
    std::vector<int64_t> after;
    const double makespan_us = simulate(groups, before);
    ASSERT_NEAR(simulate(numbered, after), makespan_us, 1e-9 * makespan_us) << "seed " << seed;
    ASSERT_EQ(before, after) << "seed " << seed;
    for (size_t g = 0; g < groups.size(); ++g) {
      ASSERT_TRUE(task.groups.Allowed(g, numbered[g]));
      ASSERT_EQ(equal[groups[g]], equal[numbered[g]]);
    }
    if (groups != numbered) ++swapped;
    std::vector<uint8_t> again = numbered;
    NumberInOrderOfUse(equal, again);
    ASSERT_EQ(again, numbered);
  }
  EXPECT_GT(swapped, 0);
}

}  // namespace
}  // namespace emplace
