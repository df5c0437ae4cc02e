#include "simulator/methods/lists/units/list_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/engine/mean_link.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// So that every unit may be as large as it gets.
constexpr UnitLimits kNoCap = {.send_over_compute = 2, .most_work = 1, .most_memory = 1};

PlacementTask Chain(const std::vector<double>& costs_us, int64_t bytes) {
  std::vector<Op> ops;
  for (size_t i = 0; i < costs_us.size(); ++i) {
    ops.push_back(MakeOp("op" + std::to_string(i), costs_us[i],
                         i == 0 ? std::vector<OpInput>{} : std::vector<OpInput>{{static_cast<OpIndex>(i) - 1, 0}},
                         {bytes}));
  }
  return HandTask(ops, HandCluster(2));
}

TEST(ListUnits, JoinWhereSendingTakesTwiceAsLongAsTheSmallerOp) {
  // 100 bytes take 10 us: joined with an op of 5 us, not with one of 6 us.
  EXPECT_EQ(ListUnits(Chain({100, 5}, 100), kNoCap), (std::vector<GroupIndex>{0, 0}));
  EXPECT_EQ(ListUnits(Chain({100, 6}, 100), kNoCap), (std::vector<GroupIndex>{0, 1}));
}

TEST(ListUnits, RenewRatiosAsUnitsGrow) {
  // The pair with the 1 us op is joined first, at a ratio of 10; 4 and 1 us are then too long to join 100 us by 8 us.
  PlacementTask task = Chain({100, 4, 1}, 80);
  EXPECT_EQ(ListUnits(task, kNoCap), (std::vector<GroupIndex>{0, 1, 1}));
}

TEST(ListUnits, StayBelowTheShareOfAllWork) {
  const PlacementTask task = Chain({1, 1, 1, 1}, 1000);
  EXPECT_EQ(ListUnits(task, {.send_over_compute = 2, .most_work = 0.5, .most_memory = 1}),
            (std::vector<GroupIndex>{0, 0, 1, 1}));
}

TEST(ListUnits, AreNumberedInOrderAndMayRunSomewhereAndKeepTogetherWhatHasToBe) {
  size_t joined = 0;
  size_t without_cycles = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source =
        RandomSource(rng, {.max_ops = 120, .max_devices = 3, .parameters = seed % 2 == 0 ? 5 : 0, .restricted = 0.1});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    const std::vector<GroupIndex> units = ListUnits(task, {});
    const std::vector<GroupIndex>& together = task.levels->Finest();
    const int32_t count = CountOf(units);
    joined += static_cast<size_t>(CountOf(together) - count);
    std::map<GroupIndex, GroupIndex> unit_of;
    std::map<GroupIndex, std::set<GroupIndex>> in_unit;
    for (size_t op = 0; op < units.size(); ++op) {
      EXPECT_EQ(unit_of.emplace(together[op], units[op]).first->second, units[op]) << "seed " << seed;
      in_unit[units[op]].insert(together[op]);
    }
    EXPECT_EQ(std::ssize(in_unit), count) << "seed " << seed;
    const std::vector<uint8_t> allowed = task.sim.AllowedOf(units, count);
    for (int32_t unit = 0; unit < count; ++unit) {
      const auto row = allowed.begin() + std::ptrdiff_t{unit} * task.sim.num_devices;
      EXPECT_EQ(std::count(row, row + task.sim.num_devices, 1) > 0, true) << "seed " << seed;
    }
    // Ops that have to be together may make cycles, in which an edge may point back.
    if (std::ranges::any_of(source.graph.ops(), [](const Op& op) { return !op.group.empty(); })) continue;
    ++without_cycles;
    for (OpIndex op = 0; op < task.sim.num_ops; ++op) {
      for (const OpIndex reader : task.sim.ReadersOf(op)) {
        EXPECT_LE(units[static_cast<size_t>(op)], units[static_cast<size_t>(reader)]) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(without_cycles, 0u);
  EXPECT_GT(joined, 0u);
}

}  // namespace
}  // namespace emplace
