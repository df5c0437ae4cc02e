#include "actor/hardware/search/measured_search.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "tests/actor/hardware/search/hidden_hardware.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

struct Case {
  explicit Case(uint64_t seed, int32_t num_ops = 40)
      : rng(seed), given(TypedCosts(rng, num_ops, LinkModel::kTopology)) {}
  Rng rng;
  Costs given;
  Costs hidden = WithHiddenRatios(rng, given);
  HiddenHardware hardware{hidden.graph, hidden.machine, 0};

  StepMeter meter() const {
    return [this](const OrderedPlacement& placement) { return hardware.Measure(placement); };
  }
  MeasuredSearchResult Search(const MeasuredSearchOptions& options, const StepMeter& meter) const {
    return SearchByMeasuring(given.graph, given.machine, 0, options, BudgetPlacer(150), meter);
  }
};

// Beside `auto` on the given costs, and `auto` that knows the hidden ones: at least half of the way from the one to the
// other, in the mean over graphs, and on no graph worse than the first.
TEST(MeasuredSearch, FindsABetterPlacementThanTheGivenCostsDo) {
  double without = 0;
  double found = 0;
  double knowing = 0;
  for (uint64_t seed = 0; seed < Trials(16); ++seed) {
    const Case on(seed);
    const MeasuredSearchResult result = on.Search({.measurements = 12, .seed = seed}, on.meter());
    const double us = on.hardware.StepUs(result.placement);
    const double alone_us = on.hardware.StepUs({.placement = Placement(40, 0), .orders = {}});
    EXPECT_DOUBLE_EQ(result.ratio, us / alone_us);
    ASSERT_TRUE(result.trials.at(0).ratio.has_value());
    EXPECT_EQ(result.trials[0].candidate.origin, "auto, given costs");
    EXPECT_LE(result.ratio, *result.trials[0].ratio);
    const auto best = BudgetPlacer(2000)({.graph = on.hidden.graph, .machine = on.hidden.machine, .method = "auto"});
    without += *result.trials[0].ratio;
    found += result.ratio;
    knowing += on.hardware.StepUs(*best) / alone_us;
  }
  EXPECT_LT(knowing, without);
  EXPECT_LT(found, without - 0.5 * (without - knowing));
}

TEST(MeasuredSearch, MeasuresNoPlacementTwiceBeforeTheEnd) {
  const Case on(3);
  std::vector<Placement> measured;
  const MeasuredSearchResult result = on.Search({.measurements = 30}, [&](const OrderedPlacement& placement) {
    measured.push_back(placement.placement);
    return on.hardware.Measure(placement);
  });
  EXPECT_EQ(result.measurements, 30);
  ASSERT_EQ(measured.size(), 30U);
  const std::set<Placement> first(measured.begin(), measured.begin() + 24);
  EXPECT_EQ(first.size(), 24U);
  EXPECT_FALSE(first.contains(Placement(40, 0)));  // The reference.
  // Three that were measured before, in two turns.
  EXPECT_EQ(std::set<Placement>(measured.begin() + 24, measured.end()).size(), 3U);
  for (int i = 24; i < 27; ++i) EXPECT_EQ(measured[static_cast<size_t>(i)], measured[static_cast<size_t>(i + 3)]);
}

TEST(MeasuredSearch, IsTheSameEachTime) {
  const Case on(4);
  const MeasuredSearchResult a = on.Search({.measurements = 8, .seed = 5}, on.meter());
  const MeasuredSearchResult b = on.Search({.measurements = 8, .seed = 5}, on.meter());
  EXPECT_EQ(a.placement, b.placement);
  EXPECT_EQ(a.ratio, b.ratio);
}

// A placement whose first measurement is four times too fast is the best until the end, where it is measured again.
TEST(MeasuredSearch, IsNotTakenInByALuckyMeasurement) {
  const Case on(5);
  std::map<Placement, int> times;
  std::optional<Placement> lucky;
  const MeasuredSearchResult result = on.Search({.measurements = 20}, [&](const OrderedPlacement& placement) {
    MeasuredStep step = on.hardware.Measure(placement);
    if (times.size() == 2 && !lucky) lucky = placement.placement;
    if (times[placement.placement]++ == 0 && placement.placement == lucky) {
      step.ratio /= 4;
    } else if (placement.placement == lucky) {
      step.ratio *= 2;
    }
    return step;
  });
  ASSERT_TRUE(lucky.has_value());
  EXPECT_GE(times[*lucky], 2);
  EXPECT_NE(result.placement.placement, *lucky);
}

TEST(MeasuredSearch, CountsPlacementsThatFailAndGoesOn) {
  const Case on(6);
  int measurement = 0;
  const MeasuredSearchResult result =
      on.Search({.measurements = 12}, [&](const OrderedPlacement& placement) -> std::optional<MeasuredStep> {
        if (measurement++ % 3 == 0) return std::nullopt;
        return on.hardware.Measure(placement);
      });
  EXPECT_EQ(result.measurements, 12);
  EXPECT_EQ(result.failed, 4);
  EXPECT_FALSE(result.trials.at(0).ratio.has_value());
  EXPECT_LT(result.ratio, 1);
}

TEST(MeasuredSearch, FailsWhereEveryStepFails) {
  const Case on(6);
  EXPECT_THROW(on.Search({.measurements = 3}, [](const OrderedPlacement&) { return std::nullopt; }), Error);
}

TEST(MeasuredSearch, HandsOutTheBestSoFarWhereItIsStopped) {
  const Case on(7);
  for (const int after : {1, 4, 11}) {  // Of 12, of which the last two are measured again.
    std::atomic<bool> stop = false;
    int measurements = 0;
    double best = 1;
    const MeasuredSearchResult result =
        on.Search({.measurements = 12, .stop = &stop}, [&](const OrderedPlacement& placement) {
          stop = ++measurements == after;
          MeasuredStep step = on.hardware.Measure(placement);
          best = std::min(best, step.ratio);
          return step;
        });
    EXPECT_TRUE(result.stopped);
    EXPECT_EQ(result.measurements, after);
    EXPECT_EQ(result.ratio, best);
  }
  std::atomic<bool> stop = true;
  EXPECT_THROW(on.Search({.measurements = 12, .stop = &stop}, on.meter()), Stopped);
}

// Where a step on two devices always takes longer, the best is the one device, with which nothing needs to be measured.
TEST(MeasuredSearch, IsNeverSlowerThanTheReference) {
  const Case on(8);
  const MeasuredSearchResult result = on.Search({.measurements = 6}, [&](const OrderedPlacement& placement) {
    MeasuredStep step = on.hardware.Measure(placement);
    step.ratio = 1.5;
    return step;
  });
  EXPECT_EQ(result.origin, "single");
  EXPECT_EQ(result.ratio, 1);
  EXPECT_EQ(result.placement.placement, Placement(40, 0));
}

// Of a reference that does not fit the memory there is no use, however fast it is.
TEST(MeasuredSearch, HandsOutNoReferenceThatDoesNotFit) {
  Case on(8);
  on.given.machine.devices[0].memory_bytes = 30000;
  const OrderedPlacement reference{.placement = Placement(40, 0), .orders = {}};
  ASSERT_GT(Simulate(on.given, reference).bytes_over, 0);
  const MeasuredSearchResult result = on.Search({.measurements = 6}, [&](const OrderedPlacement& placement) {
    MeasuredStep step = on.hardware.Measure(placement);
    step.ratio = 1.5;
    return step;
  });
  EXPECT_NE(result.placement.placement, reference.placement);
  EXPECT_EQ(result.ratio, 1.5);
}

// Two ops have four placements, of which one is the reference.
TEST(MeasuredSearch, EndsWhereThereAreNoOtherPlacements) {
  const Case on(9, 2);
  const MeasuredSearchResult result = on.Search({.measurements = 40}, on.meter());
  EXPECT_LE(result.trials.size(), 3U);
  EXPECT_FALSE(result.stopped);
}

}  // namespace
}  // namespace emplace
