#include "simulator/methods/exact/optimal_method.h"

#include <gtest/gtest.h>

#include "simulator/engine/simulator.h"
#include "simulator/methods/placement_method.h"
#include "tests/simulator/methods/hand_tasks.h"

namespace emplace {
namespace {

// What a device is known to have to do comes back when an op is taken away again, however long that op takes there.
TEST(OptimalMethod, FindsTheOptimumBesideATimeThatIsFarTooLong) {
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  const std::vector<Op> ops = {HandOp("a", 100, {}), MakeOp("b", OpCost::ByKind({{"x", 1e18}, {"y", 60}}), {}, {100}),
                               HandOp("c", 20, {})};
  const PlacementTask task = HandTask(ops, cluster);
  const MethodResult result = MakeMethod("optimal", {})->Place(task);
  ASSERT_TRUE(result.placement.has_value());
  EXPECT_EQ(Simulator(task.sim).Makespan(*result.placement), 100);
}

}  // namespace
}  // namespace emplace
