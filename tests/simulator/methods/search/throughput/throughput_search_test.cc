#include "simulator/methods/search/throughput/throughput_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "common/rng.h"
#include "simulator/methods/max_load.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/throughput/load_state.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<GroupIndex> SetsOf(const PlacementTask& task) { return task.levels->Finest(); }

// Whatever has moved, the greatest load is that of max_load.h.
TEST(LoadState, IsTheLoadOfThePlacement) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 30});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 0);
    LoadState state(task);
    Placement placement;
    std::vector<DeviceIndex> of_set;
    for (int32_t set = 0; set < state.num_sets(); ++set) {
      DeviceIndex device = 0;
      while (device + 1 < task.sim.num_devices && !state.MayRun(set, device)) ++device;
      of_set.push_back(device);
    }
    for (const GroupIndex set : SetsOf(task)) placement.push_back(of_set[static_cast<size_t>(set)]);
    state.Reset(placement);
    for (int move = 0; move < 50; ++move) {
      const auto set = static_cast<int32_t>(rng.UniformInt(0, state.num_sets() - 1));
      const auto to = static_cast<DeviceIndex>(rng.UniformInt(0, task.sim.num_devices - 1));
      if (!state.MayRun(set, to)) continue;
      state.Move(set, to);
      const Placement now = state.PlacementOf();
      const double expected_us = MaxLoadUs(task.sim, now);
      if (expected_us == std::numeric_limits<double>::infinity()) break;  // A set with no device of its own.
      ASSERT_NEAR(*std::ranges::max_element(state.loads_us()), expected_us, 1e-6 * (1 + expected_us))
          << "seed " << seed << " move " << move;
      for (DeviceIndex device = 0; device < task.sim.num_devices; ++device) {
        int64_t bytes = 0;
        for (size_t o = 0; o < now.size(); ++o) bytes += now[o] == device ? task.sim.param_bytes[o] : 0;
        ASSERT_EQ(state.ParamBytes(device), bytes);
      }
    }
  }
}

// The least load of all placements that fit; infinity if none does.
double LeastLoadUs(const PlacementTask& task) {
  PlacementScorer scorer(task);
  const std::vector<GroupIndex> set_of_op = SetsOf(task);
  const auto sets = static_cast<size_t>(CountOf(set_of_op));
  std::vector<DeviceIndex> of_set(sets, 0);
  double least_us = std::numeric_limits<double>::infinity();
  while (true) {
    Placement placement;
    for (const GroupIndex set : set_of_op) placement.push_back(of_set[static_cast<size_t>(set)]);
    const double us = MaxLoadUs(task.sim, placement);
    if (us < least_us && scorer.Score(placement).bytes_over == 0) least_us = us;
    size_t digit = 0;
    while (digit < sets && ++of_set[digit] == task.sim.num_devices) of_set[digit++] = 0;
    if (digit == sets) return least_us;
  }
}

TEST(ThroughputSearch, FindsTheLeastLoadOfSmallGraphs) {
  int compared = 0;
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 8, .max_devices = 3});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 0);
    const double least_us = LeastLoadUs(task);
    if (least_us == std::numeric_limits<double>::infinity()) continue;
    const MethodResult result = SearchForThroughput(task, {.budget = 1500, .seed = seed});
    if (!result.placement) continue;  // No device may run every op, and no division of `dp` is legal.
    ++compared;
    EXPECT_EQ(PlacementScorer(task).Score(*result.placement).bytes_over, 0) << "seed " << seed;
    EXPECT_NEAR(MaxLoadUs(task.sim, *result.placement), least_us, 1e-6 * least_us) << "seed " << seed;
  }
  EXPECT_GT(compared, static_cast<int>(Trials(60)) / 2);
}

TEST(ThroughputSearch, IsNeverWorseThanOtherMethodsNorThanWithLess) {
  for (uint64_t seed = 0; seed < Trials(12); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 60});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    double before_us = std::numeric_limits<double>::infinity();
    for (const int64_t budget : {1, 60, 250}) {
      const MethodResult result = SearchForThroughput(task, {.budget = budget, .seed = seed});
      const MethodResult again = SearchForThroughput(task, {.budget = budget, .seed = seed, .threads = 3});
      ASSERT_EQ(result.placement, again.placement) << "seed " << seed;
      ASSERT_EQ(result.evaluations, again.evaluations) << "seed " << seed;
      EXPECT_GE(result.evaluations, 1);
      if (!result.placement || PlacementScorer(task).Score(*result.placement).bytes_over > 0) break;
      const double us = MaxLoadUs(task.sim, *result.placement);
      ASSERT_LE(us, before_us * (1 + 1e-9)) << "seed " << seed << " budget " << budget;
      before_us = us;
    }
    for (const char* method : {"dp", "scotch", "list", "expert", "single"}) {
      MethodOptions options;
      if (CanMinimize(method, Objective::kThroughput)) options.objective = Objective::kThroughput;
      const MethodResult other = MakeMethod(method, options)->Place(task);
      if (!other.placement || PlacementScorer(task).Score(*other.placement).bytes_over > 0) continue;
      EXPECT_LE(before_us, MaxLoadUs(task.sim, *other.placement) * (1 + 1e-9)) << "seed " << seed << " " << method;
    }
  }
}

}  // namespace
}  // namespace emplace
