#include "policy/placer/policy_method.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace emplace
