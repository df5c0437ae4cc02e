#include "simulator/methods/search/auto_method.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>

#include "common/error.h"
#include "simulator/families/family.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/planner_parameters.h"
#include "simulator/methods/search/multilevel_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

RandomTaskSource Source(uint64_t seed) {
  Rng rng(seed);
  return RandomSource(rng, {.max_ops = 200, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
}

PlacementTask Task(uint64_t seed) {
  const RandomTaskSource source = Source(seed);
  return PlacementTask::Make(source.graph, source.cluster, 20);
}

template <typename Method>
class SearchMethod : public ::testing::Test {};
using SearchMethods = ::testing::Types<AutoMethod, MultilevelMethod>;
TYPED_TEST_SUITE(SearchMethod, SearchMethods);

TYPED_TEST(SearchMethod, FindsTheSameWithAnyNumberOfThreads) {
  for (uint64_t seed = 0; seed < Trials(24); ++seed) {
    const PlacementTask task = Task(seed);
    const MethodResult alone = TypeParam({.budget = 400, .seed = seed}).Place(task);
    for (const int threads : {2, 4}) {
      const MethodResult result = TypeParam({.budget = 400, .seed = seed, .threads = threads}).Place(task);
      EXPECT_EQ(result.placement, alone.placement) << "seed " << seed << ", " << threads << " threads";
      EXPECT_EQ(result.orders, alone.orders);
      EXPECT_EQ(result.evaluations, alone.evaluations);
      EXPECT_EQ(result.found_by, alone.found_by);
    }
  }
}

TYPED_TEST(SearchMethod, IsNeverWorseThanItsPortfolio) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    const PlacementTask task = Task(seed);
    const MethodResult result = TypeParam({.budget = 100, .seed = seed}).Place(task);
    PlacementScorer with_order(task, result.orders);
    PlacementScorer scorer(task);
    for (const char* const name : {"single", "list", "m-etf", "expert", "heft", "scotch", "m-sct"}) {
      const MethodResult member = MakeMethod(name, {.seed = seed})->Place(task);
      if (!member.placement) continue;
      ASSERT_TRUE(result.placement);
      EXPECT_LE(with_order.Score(*result.placement), scorer.Score(*member.placement)) << name << ", seed " << seed;
    }
  }
}

TEST(AutoMethod, IsNeverWorseThanAMemberInTheOrderOfItsRanks) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    const PlacementTask task = Task(seed);
    const MethodResult result = AutoMethod({.budget = 200, .seed = seed}).Place(task);
    for (const char* const name : {"list", "m-etf", "expert", "heft", "scotch"}) {
      MethodResult member = MakeMethod(name, {.seed = seed})->Place(task);
      if (!member.placement) continue;
      SetOrder("rank", task, member);
      EXPECT_LE(PlacementScorer(task, result.orders).Score(*result.placement),
                PlacementScorer(task, member.orders).Score(*member.placement))
          << name << ", seed " << seed;
    }
  }
}

TEST(AutoMethod, IsNeverWorseThanTheOptimumWhereThereAreFewPlacements) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 6, .max_devices = 3});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 0);  // 729 placements at most.
    const MethodResult optimal = MakeMethod("optimal", {.budget = 1})->Place(task);
    const MethodResult result = AutoMethod({.budget = 2000, .seed = seed}).Place(task);
    ASSERT_TRUE(result.placement && optimal.placement);
    EXPECT_LE(PlacementScorer(task, result.orders).Score(*result.placement),
              PlacementScorer(task).Score(*optimal.placement))
        << seed;
  }
}

TEST(AutoMethod, FindsTheBestPlacementOfMostTinyGraphs) {
  int found = 0;
  constexpr int kGraphs = 40;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 9, .max_devices = 3});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 0);
    const MethodResult optimal = MakeMethod("optimal", {.budget = 1})->Place(task);
    const MethodResult result = AutoMethod({.budget = 1000, .seed = seed}).Place(task);
    ASSERT_TRUE(result.placement && optimal.placement);
    const SearchScore score = PlacementScorer(task, result.orders).Score(*result.placement);
    found += score <= PlacementScorer(task).Score(*optimal.placement) ? 1 : 0;
  }
  EXPECT_GE(found, kGraphs - 2) << found;
}

TEST(AutoMethod, FitsTheMemoryOfTinyMachinesWhereThatIsPossible) {
  int tight = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    RandomTaskSource source = RandomSource(rng, {.max_ops = 8, .max_devices = 3});
    const OpIndex ops = source.graph.num_ops();
    // Every device has about half of what all ops need on one.
    const MethodScore alone = Score(PlacementTask::Make(source.graph, source.cluster, 0),
                                    {.placement = Placement(static_cast<size_t>(ops), 0)});
    for (Device& device : source.cluster.devices) {
      device.memory_bytes = static_cast<int64_t>(rng.Uniform(0.4, 0.7) * static_cast<double>(alone.peak_bytes[0]));
    }
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 0);
    if (!Score(task, MakeMethod("optimal", {.budget = 1})->Place(task)).feasible) continue;
    ++tight;
    EXPECT_TRUE(Score(task, AutoMethod({.budget = 800, .seed = seed}).Place(task)).feasible) << "seed " << seed;
  }
  EXPECT_GT(tight, 0);
}

TEST(AutoMethod, FitsTheMemoryHoweverShortTheTime) {
  // Parameters of 1000 bytes each: those of two ops fit a device, with the outputs of 100, those of three do not.
  std::vector<Op> ops = Diamond();
  for (Op& op : ops) op.param_bytes = 1000;
  const PlacementTask task = HandTask(ops, HandCluster(2, 2500));
  const MethodScore alone = Score(task, {.placement = Placement(4, 0)});
  ASSERT_FALSE(alone.feasible);
  EXPECT_TRUE(Score(task, AutoMethod({.budget = 0, .seconds = 1e-9}).Place(task)).feasible);
}

TEST(AutoMethod, HasWhatIsQuicklyFoundWhereNoDeviceHasMemoryForEverything) {
  int tight = 0;
  int needs_second = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    RandomTaskSource source = Source(seed);
    const PlacementTask ample = PlacementTask::Make(source.graph, source.cluster, 20);
    if (ample.single_device < 0) continue;
    const Placement alone(static_cast<size_t>(ample.sim.num_ops), ample.single_device);
    const MethodScore needed = Score(ample, {.placement = alone});
    const double share = Rng(seed).Uniform(0.3, 0.9);
    for (Device& device : source.cluster.devices)
      device.memory_bytes = static_cast<int64_t>(
          share * static_cast<double>(needed.peak_bytes[static_cast<size_t>(ample.single_device)]));
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
    if (Score(task, {.placement = alone}).feasible) continue;
    ++tight;
    const auto long_ago = StopSignal::Clock::now() - std::chrono::seconds(1);
    const MethodResult result = AutoMethod({.budget = 0, .seconds = 0.1, .begin = long_ago}).Place(task);
    const SearchScore score = PlacementScorer(task).Score(*result.placement);
    const SearchScore expert = *MakeMethod("expert", {})->Place(task).score;
    EXPECT_LE(score, expert) << seed;
    if (expert.bytes_over == 0) continue;
    ++needs_second;
    EXPECT_LE(score, *MakeMethod("m-topo", {})->Place(task).score) << seed;
  }
  EXPECT_GT(tight, 0);
  EXPECT_GT(needs_second, 0);
}

TEST(AutoMethod, HasAnOrderOnlyWhereThatIsBetter) {
  int ordered = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {  // All of them under a sanitizer, too: few have an order.
    const RandomTaskSource source = Source(seed);
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
    const MethodResult result = AutoMethod({.budget = 400, .seed = seed}).Place(task);
    ASSERT_TRUE(result.placement);
    EXPECT_EQ(result.orders.empty(), result.discipline.empty());
    if (result.orders.empty()) continue;
    ++ordered;
    EXPECT_NO_THROW(CheckOrders(source.graph, source.cluster, *result.placement, result.orders));
    EXPECT_LE(PlacementScorer(task, result.orders).Score(*result.placement),
              PlacementScorer(task).Score(*result.placement));
  }
  EXPECT_GT(ordered, 0);
}

TYPED_TEST(SearchMethod, KeepsWithinAnyBudgetAndIsLegal) {
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    const RandomTaskSource source = Source(seed);
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
    for (const int64_t budget : {1, 2, 10, 50}) {
      const MethodResult result = TypeParam({.budget = budget, .seed = seed}).Place(task);
      EXPECT_TRUE(result.evaluations <= budget || task.single_device < 0) << result.evaluations << " of " << budget;
      ASSERT_TRUE(result.placement);
      EXPECT_NO_THROW(CheckPlacement(source.graph, source.cluster, *result.placement));
    }
  }
}

// In a given time, each thread makes a walk of its own.
TYPED_TEST(SearchMethod, ReportsAndReturnsTheBestOfSeveralWalks) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Rng rng(seed);
    // All placements fit: else one that lacks fewer bytes is better, whatever its makespan.
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 200, .memory_bytes = int64_t{1} << 50});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
    SearchProgress last;
    last.best_us = std::numeric_limits<double>::infinity();
    const auto progress = [&](const SearchProgress& now) {
      EXPECT_GE(now.seconds, last.seconds);
      EXPECT_GE(now.evaluations, last.evaluations);
      EXPECT_LE(now.best_us, last.best_us);
      last = now;
    };
    const MethodResult result =
        TypeParam({.budget = 0, .seconds = 0.05, .seed = seed, .threads = 3, .progress = progress}).Place(task);
    ASSERT_TRUE(result.placement);
    EXPECT_GE(result.evaluations, last.evaluations);
    const SearchScore score = PlacementScorer(task, result.orders).Score(*result.placement);
    const MethodResult single = MakeMethod("single", {})->Place(task);
    if (single.placement) {
      EXPECT_LE(score, PlacementScorer(task).Score(*single.placement));
    }
    if (last.evaluations > 0) {
      EXPECT_LE(score.makespan_us, last.best_us) << seed;
    }
  }
}

TYPED_TEST(SearchMethod, EndsWhenItIsToldTo) {
  const std::atomic<bool> stop = true;
  const MethodResult result = TypeParam({.budget = 0, .seconds = 1e6, .stop = &stop}).Place(Task(1));
  EXPECT_TRUE(result.placement);
}

TYPED_TEST(SearchMethod, NeedsALimit) {
  EXPECT_THROW(TypeParam({.budget = 0}), Error);
  EXPECT_THROW(TypeParam({.budget = -1}), Error);
  EXPECT_THROW(TypeParam({.budget = 1, .seconds = -1}), Error);
}

// A policy that places as it is told; after it has waited for the end of the search, if it is told so.
class FixedPolicy : public PlacementMethod {
 public:
  FixedPolicy(Placement placement, const StopSignal* wait_for)
      : placement_(std::move(placement)), wait_for_(wait_for) {}
  MethodResult Place(const PlacementTask& /*task*/) override {
    while (wait_for_ != nullptr) wait_for_->Poll();
    return {.placement = placement_, .evaluations = 1};
  }

 private:
  Placement placement_;
  const StopSignal* wait_for_;
};

// A step of four micro-batches on as many devices, and on twice as many.
TEST(AutoMethod, SpreadsMicrobatchesOverAllDevices) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  const Family family =
      GenerateFamily({.family = "ptb", .count = 1, .train = 1, .size = "small", .microbatches = 4}, kinds);
  std::vector<double> found_us;
  for (const int devices : {4, 8}) {
    const PlacementTask task = PlacementTask::Make(family.graphs[0], K80Cluster(devices), 128);
    for (const int64_t budget : {60, 200, 1000}) {
      const MethodResult alone = AutoMethod({.budget = budget}).Place(task);
      EXPECT_LE(alone.evaluations, budget) << devices;
      const MethodResult result = AutoMethod({.budget = budget, .threads = 3}).Place(task);
      EXPECT_EQ(result.placement, alone.placement) << devices << " devices, budget " << budget;
      EXPECT_EQ(result.orders, alone.orders);
      EXPECT_EQ(result.evaluations, alone.evaluations);
      EXPECT_EQ(result.found_by, alone.found_by);
      found_us.push_back(PlacementScorer(task, result.orders).Score(*result.placement).makespan_us);
    }
  }
  const double data_parallel_us = MakeMethod("data-parallel", {})
                                      ->Place(PlacementTask::Make(family.graphs[0], K80Cluster(8), 128))
                                      .score->makespan_us;
  EXPECT_LT(found_us[2], 0.95 * data_parallel_us);  // That uses four devices.
  EXPECT_LT(found_us[5], 0.85 * found_us[2]);
}

// Two chains: the best placement has one on each device.
PlacementTask TwoChains() {
  std::vector<Op> ops;
  for (int o = 0; o < 6; ++o) {
    ops.push_back(HandOp("op" + std::to_string(o), 10, o < 2 ? std::vector<OpIndex>{} : std::vector<OpIndex>{o - 2}));
  }
  return HandTask(ops, HandCluster(2));
}

TEST(AutoMethod, TakesWhatAPolicyPlacesIfItIsBest) {
  const PlacementTask task = TwoChains();
  const Placement best = {0, 1, 0, 1, 0, 1};
  const auto make_policy = [&](const MethodOptions&) { return std::make_unique<FixedPolicy>(best, nullptr); };
  // A budget of 3 leaves no run for another method: one is for the single device, two are for the policy.
  const MethodResult result = AutoMethod({.budget = 3, .make_policy = make_policy}).Place(task);
  EXPECT_EQ(result.placement, best);
  EXPECT_EQ(result.found_by, "policy");
}

TEST(AutoMethod, APolicyThatIsTooSlowIsStoppedAndTheRestKept) {
  const PlacementTask task = TwoChains();
  for (const auto& planner :
       {std::shared_ptr<const PlannerParameters>(), std::make_shared<const PlannerParameters>()}) {
    StopSignal stop;
    MethodOptions options{.budget = 0, .seconds = 0.05, .planner = planner};
    options.make_policy = [&](const MethodOptions& own) {
      stop = own.stop;
      return std::make_unique<FixedPolicy>(Placement{}, &stop);
    };
    SetOwnOptions({{"samples", "1000"}}, {"auto"}, options);
    EXPECT_TRUE(AutoMethod(options).Place(task).placement);
  }
}

}  // namespace
}  // namespace emplace
