#include "simulator/methods/lists/unit_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "simulator/engine/free_sources.h"
#include "simulator/methods/lists/upward_rank.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

constexpr UnitLimits kJoinNothing = {.send_over_compute = std::numeric_limits<double>::max()};

PlacementTask TaskOf(uint64_t seed, RandomTaskOptions options) {
  Rng rng(seed);
  options.memory_bytes = int64_t{1} << 40;
  return RandomTask(rng, options);
}

std::vector<double> Unlimited(const PlacementTask& task) {
  return std::vector<double>(static_cast<size_t>(task.sim.num_devices), std::numeric_limits<double>::infinity());
}

TEST(UnitGraph, TellsTheBytesThatAPassUses) {
  for (uint64_t seed = 0; seed < Trials(30); ++seed) {
    const PlacementTask task = TaskOf(seed, {.parameters = 5, .restricted = 0.2});
    const ScheduleGraph whole(task);
    const UnitGraph units(whole, {});
    std::vector<double> used_bytes(Unlimited(task).size());
    const Placement placed = units.Place(ByMeanUpwardRank(units.graph()), Unlimited(task), {}, Rng(seed), used_bytes);
    std::vector<double> expected(used_bytes.size());
    std::vector<bool> counted(static_cast<size_t>(units.graph().num_units()));
    for (size_t op = 0; op < placed.size(); ++op) {
      const int32_t unit = units.graph().UnitOf(static_cast<OpIndex>(op));
      if (counted[static_cast<size_t>(unit)]) continue;
      counted[static_cast<size_t>(unit)] = true;
      expected[static_cast<size_t>(placed[op])] += static_cast<double>(units.graph().UnitBytes(unit));
    }
    EXPECT_EQ(used_bytes, expected) << "seed " << seed;
  }
}

TEST(UnitGraph, WithMuchInertiaAPassLeavesUnitsWhereTheyWere) {
  // Without parameters, which go where they are read first, with all that has to be together with them.
  for (uint64_t seed = 0; seed < Trials(30); ++seed) {
    const PlacementTask task = TaskOf(seed, {});
    const ScheduleGraph whole(task);
    const UnitGraph units(whole, kJoinNothing);
    Rng rng(seed);
    const Placement before = units.Coarsened(RandomGroupPlacement(task, rng));
    UnitScorerOptions options = {.before = before, .inertia = 1e12};
    const Placement after = units.Place(ByMeanUpwardRank(units.graph()), Unlimited(task), options, Rng(seed));
    const std::vector<uint8_t> is_free = FreeSources(units.graph().task().sim);  // They go where they are read.
    for (size_t op = 0; op < after.size(); ++op) {
      if (is_free[op] == 1) continue;
      EXPECT_EQ(after[op], before[op]) << "seed " << seed << " unit " << op;
    }
  }
}

}  // namespace
}  // namespace emplace
