#include "policy/placer/policy_proposer.h"

#include <gtest/gtest.h>

#include "policy/placer/policy_method.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

PolicyWeights WeightsFor(const PlacementTask& task, uint64_t seed) {
  return InitialPlaceto(PlacetoShape{.num_devices = task.sim.num_devices}, Rng(seed));
}

TEST(PolicyProposer, ProposesThePlacementOfThePolicy) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    const PolicyWeights weights = WeightsFor(task, seed);
    PolicyProposer proposer(weights, seed);
    EXPECT_EQ(proposer.name(), "policy");
    Placement placement = *MakePolicyMethod(weights, {.seed = seed + 1})->Place(task).placement;
    const std::vector<Move> moves = proposer.Candidates(task, {}, placement);
    ASSERT_EQ(moves.size(), 1);
    for (const OpMove& to : moves[0]) {
      EXPECT_NE(placement[static_cast<size_t>(to.op)], to.device);
      placement[static_cast<size_t>(to.op)] = to.device;
    }
    EXPECT_EQ(placement, *MakePolicyMethod(weights, {.seed = seed})->Place(task).placement);
  }
}

TEST(PolicyProposer, ProposesNothingForAPartOrForOtherDevices) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng);
  const Placement placement(static_cast<size_t>(task.sim.num_ops), 0);
  const OpIndex part = 0;
  EXPECT_TRUE(PolicyProposer(WeightsFor(task, 1), 1).Candidates(task, {&part, 1}, placement).empty());
  const PlacetoShape other{.num_devices = task.sim.num_devices + 1};
  EXPECT_TRUE(PolicyProposer(InitialPlaceto(other, Rng(1)), 1).Candidates(task, {}, placement).empty());
}

TEST(PolicyProposer, LetsASearchBeNoWorseThanThePolicy) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.memory_bytes = 1000000000});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    MethodOptions options{.budget = 10, .seed = seed};
    UsePolicy(WeightsFor(task, seed), options);
    EXPECT_LE(Score(task, MakeMethod("auto", options)->Place(task)).makespan_us,
              Score(task, MakeMethod("policy", options)->Place(task)).makespan_us);
  }
}

TEST(PolicyProposer, LetsASearchTakeSamplesOfThePolicyToo) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.memory_bytes = 1000000000});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    MethodOptions options{.budget = 200, .seed = seed};
    UsePolicy(WeightsFor(task, seed), options);
    SetOwnOptions({{"samples", "16"}}, {"auto", "policy"}, options);
    EXPECT_LE(Score(task, MakeMethod("auto", options)->Place(task)).makespan_us,
              Score(task, MakeMethod("policy", options)->Place(task)).makespan_us);
  }
}

}  // namespace
}  // namespace emplace
