#include "policy/planner/planner_kind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "common/error.h"
#include "policy/gaussian.h"
#include "policy/model.h"
#include "policy/placer/planner_method.h"
#include "policy/placer/policy_method.h"
#include "policy/player.h"
#include "policy/policy_weights.h"
#include "simulator/methods/planner_parameters.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

PolicyWeights NewPlanner(uint64_t version = 3) {
  PolicyConfig config;
  config.kind = "planner";
  PolicyWeights weights;
  weights.shape = PlannerKind().Shape(config, 4);
  weights.values = PlannerKind().InitialValues(weights.shape, config, Rng(1));
  weights.version = version;
  return weights;
}

TEST(PlannerKind, ANewOneIsThePlannerThatIsSetByHand) {
  const PolicyWeights weights = NewPlanner();
  const auto planner = MeanPlanner(weights);
  for (const PlannerParameter& parameter : PlannerParameterTable()) {
    EXPECT_EQ(parameter.get(*planner), parameter.start) << parameter.name;
  }
}

TEST(PlannerKind, FitsAnyNumberOfDevices) {
  const PolicyWeights weights = ParsePolicy(SerializePolicy(NewPlanner()), "planner");
  EXPECT_EQ(weights.shape, NewPlanner().shape);
  EXPECT_EQ(weights.version, 3U);
  for (const int32_t devices : {1, 2, 8, 255}) EXPECT_TRUE(weights.shape.FitsDevices(devices));
}

TEST(PlannerKind, AFileWithFewerParametersMeansTheFirstOnes) {
  PolicyWeights weights = NewPlanner();
  weights.shape.sizes["parameters"] = 2;
  weights.values = {1, 2, 0, 0, 0, 0};
  const auto planner = MeanPlanner(ParsePolicy(SerializePolicy(weights), "planner"));
  const std::vector<PlannerParameter>& table = PlannerParameterTable();
  EXPECT_EQ(table[0].get(*planner), table[0].At(1));
  EXPECT_EQ(table[1].get(*planner), table[1].At(2));
  for (size_t i = 2; i < table.size(); ++i) EXPECT_EQ(table[i].get(*planner), table[i].start) << table[i].name;
}

TEST(PlannerKind, AFileWithMoreParametersIsRefused) {
  PolicyWeights weights = NewPlanner();
  const auto more = std::ssize(PlannerParameterTable()) + 1;
  weights.shape.sizes["parameters"] = more;
  weights.values.assign(static_cast<size_t>(more + more * more), 0.0F);
  EXPECT_THROW(ParsePolicy(SerializePolicy(weights), "planner"), Error);
}

TEST(PlannerKind, HasNeitherPlayersNorModels) {
  EXPECT_THROW(PlannerKind().MakePlayer(NewPlanner().shape), Error);
  EXPECT_THROW(PlannerKind().MakeModel(NewPlanner().shape, {}), Error);
}

TEST(PlannerKind, PlacesAsItsMethodsDoWithItsParameters) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    MethodOptions options;
    UsePolicy(NewPlanner(), options);
    const MethodResult by_policy = MakeMethod("policy", options)->Place(task);
    MethodOptions by_hand;
    by_hand.own["passes"] = int64_t{1};
    const MethodResult by_list = MakeMethod("list", by_hand)->Place(task);
    EXPECT_EQ(by_policy.placement, by_list.placement);
    options.budget = by_hand.budget = 60;
    by_hand.own.clear();
    EXPECT_EQ(MakeMethod("auto", options)->Place(task).placement, MakeMethod("auto", by_hand)->Place(task).placement);
  }
}

TEST(PlannerKind, SamplesNeverMakeItWorse) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.memory_bytes = 1000000000});
    MethodOptions options;
    UsePolicy(NewPlanner(), options);
    const double greedy_us = Score(task, MakeMethod("policy", options)->Place(task)).makespan_us;
    SetOwnOptions({{"samples", "6"}}, {"policy"}, options);
    const MethodResult best = MakeMethod("policy", options)->Place(task);
    EXPECT_LE(Score(task, best).makespan_us, greedy_us);
    EXPECT_EQ(best.placement, MakeMethod("policy", options)->Place(task).placement);
  }
}

TEST(PlannerKind, APassThatIsStoppedCostsNoneOfThoseBefore) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng);
  MethodOptions options;
  UsePolicy(NewPlanner(), options);
  int64_t polls = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
  options.stop = StopSignal(std::function<bool()>([&] { return ++polls > most; }));
  ASSERT_TRUE(MakeMethod("policy", options)->Place(task).placement);
  const int64_t of_a_pass = polls;
  SetOwnOptions({{"samples", "100"}}, {"policy"}, options);
  for (int64_t more = 1; more <= 2 * of_a_pass; ++more) {
    polls = 0;
    most = of_a_pass + more;
    EXPECT_TRUE(MakeMethod("policy", options)->Place(task).placement) << more;
  }
}

// A planner by hand, whose complements are each a step further from it in every parameter of a pass.
PolicyWeights WithComplements(int64_t count) {
  PolicyWeights weights = NewPlanner();
  const auto n = Gaussian(weights).mean.size();
  weights.shape.sizes[kComplements] = count;
  for (int64_t k = 1; k <= count; ++k) weights.values.insert(weights.values.end(), n, static_cast<float>(k));
  return weights;
}

TEST(PlannerKind, SamplesAreTheComplementsFirst) {
  const PolicyWeights weights = ParsePolicy(SerializePolicy(WithComplements(2)), "planner");
  EXPECT_EQ(weights.values, WithComplements(2).values);
  const auto makespan_us = [](const PlacementTask& task, const PolicyWeights& policy, int samples) {
    MethodOptions options;
    UsePolicy(policy, options);
    SetOwnOptions({{"samples", std::to_string(samples)}}, {"policy"}, options);
    return Score(task, MakeMethod("policy", options)->Place(task)).makespan_us;
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.memory_bytes = 1000000000});
    std::vector<double> alone;  // A planner whose mean is so many steps from what is set by hand.
    for (int k = 0; k <= 2; ++k) {
      PolicyWeights moved = NewPlanner();
      std::fill_n(moved.values.begin(), Gaussian(moved).mean.size(), static_cast<float>(k));
      alone.push_back(makespan_us(task, moved, 0));
    }
    EXPECT_EQ(makespan_us(task, weights, 0), alone[0]);
    EXPECT_EQ(makespan_us(task, weights, 1), std::min(alone[0], alone[1]));
    EXPECT_EQ(makespan_us(task, weights, 2), std::ranges::min(alone));
    EXPECT_LE(makespan_us(task, weights, 5), std::ranges::min(alone));
  }
}

TEST(PlannerKind, AFileFromBeforeComplementsHasNone) {
  std::string bytes = SerializePolicy(NewPlanner());
  const std::string key = "shape.complements";
  ASSERT_NE(bytes.find(key), std::string::npos);
  bytes.replace(bytes.find(key), key.size(), "trained_elsewhere");
  const PolicyWeights weights = ParsePolicy(bytes, "planner");
  EXPECT_EQ(weights.shape, NewPlanner().shape);
  EXPECT_TRUE(Gaussian(weights).complements.empty());
}

TEST(PlannerKind, DrawsHaveTheSpreadOfThePolicy) {
  const PolicyWeights weights = {.shape = {.kind = "planner", .sizes = {{"parameters", 2}, {"complements", 0}}},
                                 .values = {1, -1, /*spread*/ 0.5F, 0, 0.25F, 0.1F},
                                 .metadata = {}};
  const Gaussian policy(weights);
  double sum[2] = {0, 0};
  double square[2] = {0, 0};
  constexpr int kDraws = 4000;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<float> drawn = policy.Draw(Rng(5).Fork("draw", i));
    for (size_t k = 0; k < 2; ++k) {
      sum[k] += static_cast<double>(drawn[k]) / kDraws;
      square[k] += static_cast<double>(drawn[k]) * static_cast<double>(drawn[k]) / kDraws;
    }
  }
  EXPECT_NEAR(sum[0], 1, 0.05);
  EXPECT_NEAR(sum[1], -1, 0.05);
  EXPECT_NEAR(square[0] - sum[0] * sum[0], 0.25, 0.03);
  EXPECT_NEAR(square[1] - sum[1] * sum[1], 0.0725, 0.01);
}

}  // namespace
}  // namespace emplace
