#include "simulator/methods/lists/units/unit_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "simulator/methods/lists/upward_rank.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

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
    UnitGraph units(whole, {});
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

}  // namespace
}  // namespace emplace
