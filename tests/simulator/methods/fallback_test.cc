#include "simulator/methods/fallback.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Placements drawn at random against a comparison written out: what lacks less memory wins, then the
// faster one.
TEST(MethodOrSingleDevice, IsTheBetterOfTheTwo) {
  uint64_t fell_back = 0;
  uint64_t neither_fits = 0;
  const auto trials = Trials(400);
  for (uint64_t i = 0; i < trials; ++i) {
    Rng rng(i);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.2});
    const MethodResult random = MakeMethod("random", {.budget = 1, .seed = i})->Place(task);
    const MethodResult single = MakeMethod("single", {})->Place(task);
    const MethodScore of_random = Score(task, random);
    const MethodScore of_single = Score(task, single);
    const std::optional<ChosenPlacement> chosen = MethodOrSingleDevice(task, random, of_random);
    ASSERT_TRUE(chosen) << i;
    const auto lacks = [&](const MethodScore& score) {
      int64_t bytes = 0;
      for (size_t d = 0; d < score.peak_bytes.size(); ++d) {
        bytes += std::max<int64_t>(0, score.peak_bytes[d] - task.sim.memory_bytes[d]);
      }
      return bytes;
    };
    const bool single_is_better =
        single.placement && (lacks(of_single) != lacks(of_random) ? lacks(of_single) < lacks(of_random)
                                                                  : of_single.makespan_us < of_random.makespan_us);
    neither_fits += !of_single.feasible && !of_random.feasible ? 1 : 0;
    EXPECT_EQ(chosen->fallback, single_is_better) << i;
    EXPECT_EQ(chosen->placement, single_is_better ? *single.placement : *random.placement) << i;
    EXPECT_EQ(chosen->score.makespan_us, single_is_better ? of_single.makespan_us : of_random.makespan_us) << i;
    fell_back += single_is_better ? 1 : 0;
  }
  EXPECT_GT(fell_back, trials / 10);
  EXPECT_LT(fell_back, trials);
  EXPECT_GT(neither_fits, 0);
}

TEST(MethodOrSingleDevice, TakesWhatThereIs) {
  Rng rng(5);
  const PlacementTask task = RandomTask(rng);
  const MethodResult nothing;
  const std::optional<ChosenPlacement> chosen = MethodOrSingleDevice(task, nothing, Score(task, nothing));
  ASSERT_TRUE(chosen);
  EXPECT_TRUE(chosen->fallback);
  PlacementTask nowhere = task;
  nowhere.single_device = -1;
  EXPECT_FALSE(MethodOrSingleDevice(nowhere, nothing, Score(nowhere, nothing)));
}

}  // namespace
}  // namespace emplace
