#include "policy/placer/policy_method.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "common/error.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

MethodOptions With(const PolicyWeights& weights) {
  MethodOptions options;
  UsePolicy(weights, options);
  return options;
}

TEST(PolicyMethod, RefusesAPolicyForAnotherNumberOfDevices) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng);
  const PlacetoShape shape{.num_devices = task.sim.num_devices + 1};
  EXPECT_THROW(MakeMethod("policy", With(InitialPlaceto(shape, Rng(1))))->Place(task), Error);
}

TEST(PolicyMethod, StartsWhereThePolicyStartedInTraining) {
  PolicyWeights weights = InitialPlaceto(PlacetoShape{}, Rng(1));
  weights.metadata["environment.start"] = "anywhere";
  EXPECT_EQ(BadInputOf([&] { MakeMethod("policy", With(weights)); }),
            "environment.start of the policy is 'anywhere', expected one of random, single, best");
}

TEST(PolicyMethod, SamplesNeverMakeItWorse) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.memory_bytes = 1000000000});
    MethodOptions options = With(InitialPlaceto(PlacetoShape{.num_devices = task.sim.num_devices}, Rng(seed)));
    const double greedy_us = Score(task, MakeMethod("policy", options)->Place(task)).makespan_us;
    SetOwnOptions({{"samples", "32"}}, {"policy"}, options);
    EXPECT_LE(Score(task, MakeMethod("policy", options)->Place(task)).makespan_us, greedy_us);
  }
}

TEST(PolicyMethod, KnowsTheScoreOfWhatItPlaces) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.memory_bytes = 1000});
    const MethodOptions options = With(InitialPlaceto(PlacetoShape{.num_devices = task.sim.num_devices}, Rng(seed)));
    const MethodResult result = MakeMethod("policy", options)->Place(task);
    EXPECT_EQ(result.score, PlacementScorer(task).Score(*result.placement));
    EXPECT_EQ(result.evaluations, 1);
  }
}

TEST(PolicyMethod, HandsOutTheBestSoFarWhereItIsStopped) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng);
  MethodOptions options = With(InitialPlaceto(PlacetoShape{.num_devices = task.sim.num_devices}, Rng(1)));
  SetOwnOptions({{"samples", "10000"}}, {"policy"}, options);
  int64_t polls = 0;  // One for each group of an episode, and one after the last.
  options.stop = StopSignal(std::function<bool()>([&] { return ++polls > task.groups.num_groups + 1; }));
  const MethodResult result = MakeMethod("policy", options)->Place(task);
  EXPECT_TRUE(result.placement);
  EXPECT_EQ(result.evaluations, 1);  // The greedy one.
  EXPECT_THROW(MakeMethod("policy", options)->Place(task), Stopped);
}

// As a member of the portfolio.
TEST(PolicyMethod, ASearchIsNoWorse) {
  for (const auto& [budget, samples] : {std::pair(10, "0"), std::pair(200, "16")}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng(seed);
      const RandomTaskSource source = RandomSource(rng, {.memory_bytes = 1000000000});
      const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
      MethodOptions options = With(InitialPlaceto(PlacetoShape{.num_devices = task.sim.num_devices}, Rng(seed)));
      options.budget = budget;
      options.seed = seed;
      SetOwnOptions({{"samples", samples}}, {"auto", "policy"}, options);
      EXPECT_LE(Score(task, MakeMethod("auto", options)->Place(task)).makespan_us,
                Score(task, MakeMethod("policy", options)->Place(task)).makespan_us);
    }
  }
}

}  // namespace
}  // namespace emplace
