#include "simulator/methods/search/part_task.h"

#include <gtest/gtest.h>

#include "simulator/methods/placement_scorer.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(PartTask, ScoresAPlacementAsTheWholeDoes) {
  int parts = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task =
        RandomTask(rng, {.max_ops = 100, .restricted = 0.05, .link_model = static_cast<LinkModel>(seed % 3)});
    const auto devices = DevicesTogether(task, std::max(1, task.sim.num_devices / 2));
    if (!devices) continue;
    ++parts;
    const PartTask part(task, *devices);
    ASSERT_EQ(part.task().sim.num_devices, std::ssize(*devices));
    // Every unit on the first of the part's devices that may run it.
    const std::vector<GroupIndex>& units = part.task().levels->Finest();
    const int32_t num_units = CountOf(units);
    const std::vector<uint8_t> allowed = part.task().sim.AllowedOf(units, num_units);
    Placement placement;
    for (const GroupIndex unit : units) {
      DeviceIndex device = 0;
      while (allowed[static_cast<size_t>(unit * part.task().sim.num_devices + device)] == 0) ++device;
      placement.push_back(device);
    }
    EXPECT_EQ(PlacementScorer(part.task()).Score(placement), PlacementScorer(task).Score(part.Expanded(placement)))
        << "seed " << seed;
  }
  EXPECT_GT(parts, static_cast<int>(Trials(100)) / 2);
}

// Four devices of two speeds: the fast ones, whatever their indices.
TEST(DevicesTogether, AreTheFastest) {
  Cluster cluster = HandCluster(4);
  for (const size_t slow : {size_t{0}, size_t{2}}) cluster.devices[slow].kind = "y";
  Op op = HandOp("a", 0, {});
  op.cost = OpCost::ByKind({{"x", 10}, {"y", 20}});
  EXPECT_EQ(DevicesTogether(HandTask({op}, cluster), 2), (std::vector<DeviceIndex>{1, 3}));
  EXPECT_EQ(DevicesTogether(HandTask({op}, cluster), 3), (std::vector<DeviceIndex>{0, 1, 3}));
}

}  // namespace
}  // namespace emplace
