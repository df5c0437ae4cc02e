// The methods that divide work rather than schedule it: expert, scotch, cpu.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/strings.h"
#include "simulator/families/family.h"
#include "simulator/methods/cpu_method.h"
#include "simulator/methods/groups/data_parallel_method.h"
#include "simulator/methods/groups/expert_method.h"
#include "simulator/methods/groups/scotch_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/simulator/methods/microbatches.h"

namespace emplace {
namespace {

// A chain of ops with these costs.
std::vector<Op> Chain(const std::vector<double>& costs_us) {
  std::vector<Op> ops;
  for (size_t o = 0; o < costs_us.size(); ++o) {
    const auto before = static_cast<OpIndex>(o) - 1;
    ops.push_back(HandOp("op" + std::to_string(o), costs_us[o],
                         before < 0 ? std::vector<OpIndex>{} : std::vector<OpIndex>{before}));
  }
  return ops;
}

TEST(Expert, CutsStagesWhereTheSlowestDeviceHasLeast) {
  // Stages 0, 7, 9 and 30 of 10, 10, 10 and 25 us: 30 and 25 is the best cut.
  PlacementTask task = HandTask(Chain({10, 10, 10, 25}), HandCluster(2));
  task.stage_of_op = {0, 7, 9, 30};
  EXPECT_EQ(*ExpertMethod({}).Place(task).placement, (Placement{0, 0, 0, 1}));
  // The second half of the chain goes back to the stages of the first, as a backward pass does.
  task.stage_of_op = {0, 1, 1, 0};
  EXPECT_EQ(*ExpertMethod({}).Place(task).placement, (Placement{0, 1, 1, 0}));
}

TEST(Expert, CountsWhatAStageCostsOnEachDevice) {
  std::vector<Op> ops = Chain({0, 0, 0, 0});
  for (Op& op : ops) op.cost = OpCost::ByKind({{"x", 10}, {"y", 30}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  PlacementTask task = HandTask(ops, cluster);
  task.stage_of_op = {0, 1, 2, 3};
  EXPECT_EQ(*ExpertMethod({}).Place(task).placement, (Placement{0, 0, 0, 1}));  // 30 and 30 us.
}

TEST(Expert, WithoutStagesGoesByDepth) {
  const PlacementTask task = HandTask(Chain({10, 10, 10, 10, 10, 10}), HandCluster(3));
  EXPECT_EQ(*ExpertMethod({}).Place(task).placement, (Placement{0, 0, 1, 1, 2, 2}));
}

TEST(Expert, EveryWorkloadNamesItsStages) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  const Cluster cluster = K80Cluster(2);
  for (const std::string& name : FamilyNames()) {
    if (name.ends_with('4') || name.ends_with('8')) continue;  // As the network with 2 layers or stacks, but larger.
    const Family family = GenerateFamily({.family = name, .count = 1, .train = 1}, kinds);
    const PlacementTask task = PlacementTask::Make(family.graphs[0], cluster, 128);
    EXPECT_GT(*std::max_element(task.stage_of_op.begin(), task.stage_of_op.end()), 1) << name;
    EXPECT_EQ(std::count(task.stage_of_op.begin(), task.stage_of_op.end(), -1), 0) << name;
    // Both devices work, neither does next to nothing.
    const Placement placement = *ExpertMethod({}).Place(task).placement;
    double us[2] = {};
    for (size_t o = 0; o < placement.size(); ++o) us[placement[o]] += task.sim.cost_us[2 * o];
    EXPECT_LT(std::max(us[0], us[1]), 4 * std::min(us[0], us[1])) << name;
  }
}

// side x side ops of 10 us, each reads its neighbours above and to the left.
std::vector<Op> Grid(int32_t side) {
  std::vector<Op> ops;
  for (int32_t i = 0; i < side * side; ++i) {
    std::vector<OpIndex> inputs;
    if (i >= side) inputs.push_back(i - side);
    if (i % side > 0) inputs.push_back(i - 1);
    ops.push_back(HandOp("op" + std::to_string(i), 10, inputs));
  }
  return ops;
}

// Four micro-batches of an op of 10 us, that read one parameter and whose outputs are added up in it; two of them on
// the second device would take as long as all on the first.
PlacementTask FourMicrobatches(double second_us) {
  std::vector<Op> ops = {HandOp("w", 0, {}, 100), HandOp("v", 0, {}, 60), HandOp("u", 0, {}, 50)};
  for (int m = 0; m < 4; ++m) {
    ops.push_back(HandOp("mm" + std::to_string(m), 0, {0, 1, 2}));
    ops.back().cost = OpCost::ByKind({{"x", 10}, {"y", second_us}});
    if (m > 0) ops.back().copy_of = 3;
  }
  for (size_t o = 0; o < 3; ++o) ops[o].cost = OpCost::ByKind({{"x", 0}, {"y", 0}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  PlacementTask task = HandTask(ops, cluster);
  task.microbatch_of_op = {-1, -1, -1, 0, 1, 2, 3};
  return task;
}

TEST(DataParallel, GivesEachMicrobatchADeviceAndSpreadsWhatTheyShare) {
  EXPECT_EQ(*DataParallelMethod({}).Place(FourMicrobatches(10)).placement, (Placement{0, 1, 1, 0, 1, 0, 1}));
}

TEST(DataParallel, GivesASlowDeviceFewerMicrobatchesOrNothing) {
  EXPECT_EQ(*DataParallelMethod({}).Place(FourMicrobatches(25)).placement, (Placement{0, 1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(*DataParallelMethod({}).Place(FourMicrobatches(50)).placement, (Placement{0, 0, 0, 0, 0, 0, 0}));
}

// On two devices, a step of two micro-batches with parameters of this many bytes.
PlacementTask TwoMicrobatches(const std::vector<int64_t>& parameter_bytes, const std::vector<Op>& ops_of_each) {
  std::vector<Op> parameters;
  for (const int64_t bytes : parameter_bytes)
    parameters.push_back(HandOp(StrCat("w", parameters.size()), 0, {}, bytes));
  return MicrobatchTask(parameters, ops_of_each, 2, HandCluster(2));
}

// An op of 50 us, whose output a product reads together with a parameter. To send the output takes 1 us, and to send
// the parameter a tenth of its bytes.
PlacementTask TwoProducts(int64_t parameter_bytes, double product_us) {
  return TwoMicrobatches({parameter_bytes}, {HandOp("x", 50, {}, 10), HandOp("mm", product_us, {0, 1}, 10)});
}

TEST(DataParallel, MovesSmallActivationsToALargeParameter) {
  EXPECT_EQ(*DataParallelMethod({}).Place(TwoProducts(1000, 1)).placement, (Placement{0, 0, 0, 1, 0}));
  const MethodResult small = DataParallelMethod({}).Place(TwoProducts(5, 1));
  EXPECT_EQ(*small.placement, (Placement{0, 0, 0, 1, 1}));
  EXPECT_EQ(small.evaluations, 1);  // Nothing else was tried.
}

TEST(DataParallel, LeavesOpsThatTakeLongerThanToSendTheirParameter) {
  // 99 us less to send, on two links, are 49.5 us.
  EXPECT_EQ(*DataParallelMethod({}).Place(TwoProducts(1000, 48)).placement, (Placement{0, 0, 0, 1, 0}));
  const MethodResult left = DataParallelMethod({}).Place(TwoProducts(1000, 51));
  EXPECT_EQ(*left.placement, (Placement{0, 0, 0, 1, 1}));
  EXPECT_EQ(left.evaluations, 1);
}

TEST(DataParallel, CountsOnceWhatManyOpsOfAMicrobatchRead) {
  // A lookup, which goes to its parameter, and ten products with another one, which is sent once for all of them. If
  // each product counted that for itself, they would go, too, and the step would be slower than with no op moved.
  std::vector<Op> ops = {HandOp("lookup", 1, {0}, 10)};
  for (int i = 0; i < 10; ++i) ops.push_back(HandOp(StrCat("mm", i), 10, {1, 2}, 10));
  const Placement placement = *DataParallelMethod({}).Place(TwoMicrobatches({1000, 600}, ops)).placement;
  Placement expected = {0, 1, 0};
  expected.insert(expected.end(), 10, 0);
  expected.push_back(0);
  expected.insert(expected.end(), 10, 1);
  EXPECT_EQ(placement, expected);
}

TEST(DataParallel, WithoutMicrobatchesTakesTheFastestDevice) {
  PlacementTask task = FourMicrobatches(9);
  task.microbatch_of_op.assign(7, -1);
  EXPECT_EQ(*DataParallelMethod({}).Place(task).placement, Placement(7, 1));
}

TEST(DataParallel, LeavesTheWorkOfEachMicrobatchOfAFamilyOnOneDevice) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  const Family family =
      GenerateFamily({.family = "ptb", .count = 1, .train = 1, .size = "small", .microbatches = 6}, kinds);
  const Cluster cluster = K80Cluster(3);
  const PlacementTask task = PlacementTask::Make(family.graphs[0], cluster, 128);
  const Placement placement = *DataParallelMethod({}).Place(task).placement;
  std::vector<double> us_on(18);  // [micro-batch][device]
  for (size_t o = 0; o < placement.size(); ++o) {
    if (task.microbatch_of_op[o] >= 0)
      us_on[static_cast<size_t>(task.microbatch_of_op[o] * 3 + placement[o])] += task.sim.cost_us[3 * o];
  }
  std::vector<int> microbatches_on(3);
  for (size_t m = 0; m < 6; ++m) {
    const auto begin = us_on.begin() + static_cast<std::ptrdiff_t>(3 * m);
    const auto most = std::max_element(begin, begin + 3);
    EXPECT_GT(*most, 0.95 * std::accumulate(begin, begin + 3, 0.0)) << m;  // All but lookups.
    ++microbatches_on[static_cast<size_t>(most - begin)];
  }
  EXPECT_EQ(microbatches_on, (std::vector<int>{2, 2, 2}));
}

TEST(Scotch, BalancesAGrid) {
  constexpr int32_t kSide = 16;
  const std::vector<Op> ops = Grid(kSide);
  for (const int devices : {2, 4, 8}) {
    const Placement placement = *ScotchMethod({}).Place(HandTask(ops, HandCluster(devices))).placement;
    int cut = 0;
    for (int32_t i = 0; i < kSide * kSide; ++i) {
      for (const OpInput& input : ops[static_cast<size_t>(i)].inputs) {
        if (placement[static_cast<size_t>(i)] != placement[static_cast<size_t>(input.producer)]) ++cut;
      }
    }
    for (DeviceIndex d = 0; d < devices; ++d) {
      const auto share =
          static_cast<double>(std::count(placement.begin(), placement.end(), d)) * devices / (kSide * kSide);
      EXPECT_NEAR(share, 1, 0.1) << devices << " devices";
    }
    EXPECT_LT(cut, kSide * (devices + 1));  // Straight cuts: 16 for two, 32 for four, 64 for eight devices.
  }
}

TEST(Scotch, MapsALargeGraphTheSameEachTime) {
  // libscotch coarsens so many nodes with several threads unless it is told not to.
  const PlacementTask task = HandTask(Grid(80), HandCluster(4));
  const Placement first = *ScotchMethod({}).Place(task).placement;
  for (int again = 0; again < 3; ++again) EXPECT_EQ(*ScotchMethod({}).Place(task).placement, first);
  EXPECT_NE(*ScotchMethod({.seed = 2}).Place(task).placement, first);
}

TEST(Scotch, GivesAFasterDeviceMore) {
  std::vector<Op> ops = Chain(std::vector<double>(60, 0));
  for (Op& op : ops) op.cost = OpCost::ByKind({{"x", 10}, {"y", 20}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  const Placement placement = *ScotchMethod({}).Place(HandTask(ops, cluster)).placement;
  EXPECT_NEAR(static_cast<double>(std::count(placement.begin(), placement.end(), 0)), 40, 4);
}

TEST(Cpu, IsTheFirstCpuOrNothing) {
  Cluster cluster = HandCluster(3);
  EXPECT_FALSE(CpuMethod({}).Place(HandTask(Diamond(), cluster)).placement.has_value());
  cluster.devices[1].kind = cluster.devices[2].kind = "cpu";
  EXPECT_EQ(*CpuMethod({}).Place(HandTask(Diamond(), cluster)).placement, (Placement{1, 1, 1, 1}));
}

}  // namespace
}  // namespace emplace
