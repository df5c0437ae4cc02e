// A search is never worse with a larger budget: it then does what it does with a smaller one, and goes on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simulator/families/family.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/auto_method.h"
#include "simulator/methods/search/multilevel_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// order: that is asked for; empty: none.
template <typename Method>
void ExpectNeverWorse(const PlacementTask& task, const std::vector<int64_t>& budgets, uint64_t seed,
                      const std::string& order = "") {
  SearchScore before;
  for (const int64_t budget : budgets) {
    const MethodResult result = Method({.budget = budget, .seed = seed, .order = order}).Place(task);
    EXPECT_LE(result.evaluations, budget + 3);  // `best` tries four orders, also of the first placement.
    if (!result.placement) return;
    const SearchScore score = PlacementScorer(task, result.orders).Score(*result.placement);
    if (budget != budgets.front()) {
      EXPECT_LE(score, before) << task.name << " on " << task.sim.num_devices << " devices, seed " << seed
                               << ", budget " << budget << ", found by " << result.found_by << ", order " << order;
    }
    before = score;
  }
}

template <typename Method>
class AnytimeSearch : public ::testing::Test {};
using AnytimeMethods = ::testing::Types<AutoMethod, MultilevelMethod>;
TYPED_TEST_SUITE(AnytimeSearch, AnytimeMethods);

TYPED_TEST(AnytimeSearch, IsNeverWorseWithALargerBudget) {
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(
        rng, {.max_ops = seed % 4 == 0 ? 8 : 200, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
    ExpectNeverWorse<TypeParam>(task, {1, 2, 3, 5, 8, 13, 17, 21, 25, 29, 34, 44, 55, 70, 89, 144, 233, 377, 610},
                                seed);
  }
}

TYPED_TEST(AnytimeSearch, IsNeverWorseWithALargerBudgetInAnOrderThatIsAskedFor) {
  const std::vector<std::string> orders = OrderNames();
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    // Memory that what runs in another order may exceed.
    const RandomTaskSource source =
        RandomSource(rng, {.max_ops = seed % 4 == 0 ? 8 : 100, .memory_bytes = seed % 2 == 0 ? 0 : 1'000'000'000});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 20);
    const std::string& order = orders[seed % orders.size()];
    ExpectNeverWorse<TypeParam>(task, {1, 3, 8, 17, 25, 34, 55, 89, 144, 233, 377}, seed, order);
    const MethodResult found = TypeParam({.budget = 377, .seed = seed, .order = order}).Place(task);
    if (!found.placement) continue;
    const SearchScore score = OrderNamed(order, ScheduleGraph(task), *found.placement).score;
    EXPECT_EQ(PlacementScorer(task, found.orders).Score(*found.placement), score) << order;
    for (const char* member : {"single", "expert", "heft", "m-etf", "scotch"}) {
      const MethodResult other = MakeMethod(member, {.seed = seed})->Place(task);
      if (!other.placement) continue;
      EXPECT_LE(score, OrderNamed(order, ScheduleGraph(task), *other.placement).score)
          << member << ", " << order << seed;
    }
  }
}

TEST(AnytimeAuto, IsNeverWorseWithALargerBudgetOnNetworks) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  for (const int microbatches : {1, 4}) {
    const Family family = GenerateFamily({.family = microbatches > 1 ? "ptb" : "nmt",
                                          .count = 1,
                                          .train = 1,
                                          .size = microbatches > 1 ? "small" : "full",
                                          .microbatches = microbatches},
                                         kinds);
    for (const int devices : {2, 8}) {
      if (kSanitized && devices == 8) continue;  // Under a sanitizer it takes minutes.
      const PlacementTask task = PlacementTask::Make(family.graphs[0], K80Cluster(devices), 128);
      ExpectNeverWorse<AutoMethod>(task, {10, 20, 40, 60, 75, 90, 100, 150, 200, 300, 400, 800}, 1);
    }
  }
}

}  // namespace
}  // namespace emplace
