#include "policy/placer/policy_placer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/error.h"
#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/players.h"
#include "policy/sample_choice.h"
#include "simulator/environment/placement_env.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

PolicyWeights SmallPlaceto(int32_t devices, uint64_t seed) {
  return InitialPlaceto({.num_devices = devices, .message_rounds = 2}, Rng(seed));
}

PlacerResult Place(const PolicyWeights& weights, const PlacementTask& task, const PlacerOptions& options) {
  return PlaceWithPolicy(*MakePlayer(weights), task, options);
}

TEST(PolicyPlacer, GreedyTakesTheMostLikelyDeviceAtEveryStep) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.2});
    const PolicyWeights weights = SmallPlaceto(task.sim.num_devices, seed);
    const PlacerResult result = Place(weights, task, {.samples = 0, .start = Start::kSingle, .seed = seed});

    // The same episode, step by step through the environment.
    EnvironmentConfig config;
    config.start = Start::kSingle;
    PlacementEnv env(task, config);
    env.Reset(rng);
    std::vector<float> logits(static_cast<size_t>(task.sim.num_devices));
    PlacetoKernel kernel(weights);
    const PlacetoGraph graph(task.groups);
    while (!env.done()) {
      const PlacetoState state{&graph, env.placement().data(), env.step()};
      kernel.Forward({&state, 1}, logits);
      DeviceIndex best = 0;
      for (DeviceIndex d = 1; d < task.sim.num_devices; ++d) {
        if (logits[static_cast<size_t>(d)] > logits[static_cast<size_t>(best)]) best = d;
      }
      env.Step(best);
    }
    ASSERT_EQ(result.groups, std::vector<uint8_t>(env.placement().begin(), env.placement().end())) << "seed " << seed;
    ASSERT_EQ(result.makespan_us, env.makespan_us());
    ASSERT_EQ(result.feasible, env.feasible());
    ASSERT_EQ(result.evaluations, 1);
  }
}

TEST(PolicyPlacer, ResultsAreLegalAndAsSimulated) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.3});
    const PolicyWeights weights = SmallPlaceto(task.sim.num_devices, seed);
    const PlacerResult result = Place(weights, task, {.samples = 5, .seed = seed});
    for (size_t g = 0; g < result.groups.size(); ++g) {
      ASSERT_EQ(task.groups.allowed[g * static_cast<size_t>(task.sim.num_devices) + result.groups[g]], 1);
    }
    std::vector<DeviceIndex> ops(task.group_of_op.size());
    task.Expand(result.groups, ops);
    Simulator simulator(task.sim);
    std::vector<int64_t> peak_bytes(result.peak_bytes.size());
    ASSERT_EQ(simulator.MakespanAndPeak(ops, peak_bytes), result.makespan_us);
    ASSERT_EQ(peak_bytes, result.peak_bytes);
    ASSERT_EQ(result.evaluations, 6);
  }
}

TEST(PolicyPlacer, MoreSamplesAreNeverWorse) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    const PolicyWeights weights = SmallPlaceto(task.sim.num_devices, seed);
    const PlacerResult greedy = Place(weights, task, {.samples = 0, .seed = seed});
    PlacerResult before = greedy;
    for (const int32_t samples : {1, 4, 16}) {
      const PlacerResult result = Place(weights, task, {.samples = samples, .seed = seed});
      ASSERT_GE(result.feasible, before.feasible) << "seed " << seed;
      if (result.feasible == before.feasible) {
        ASSERT_LE(result.makespan_us, before.makespan_us) << "seed " << seed;
      }
      before = result;
    }
    improved += before.makespan_us < greedy.makespan_us ? 1 : 0;
  }
  EXPECT_GT(improved, 5);  // Samples do differ from the greedy episode.
}

// Episodes are played some hundred at once; which ones are together changes none of them.
TEST(PolicyPlacer, ManySamplesAreTheEpisodesPlayedAlone) {
  Rng rng(3);
  const PlacementTask task = RandomTask(rng, {.memory_bytes = int64_t{1} << 40});
  const auto devices = static_cast<size_t>(task.sim.num_devices);
  const PolicyWeights weights = SmallPlaceto(task.sim.num_devices, 7);
  const PlacerOptions options = {.samples = 600, .seed = 4};
  const Rng root = PlacerRng(task, options);
  PlacementEnv env(task, EnvironmentConfig());
  PlacetoKernel kernel(weights);
  const PlacetoGraph graph(task.groups);
  double best_us = std::numeric_limits<double>::infinity();
  for (uint64_t e = 0; e <= 600; ++e) {
    Rng episode = root.Fork("episode", e);
    env.Reset(episode);
    std::vector<float> logits(devices);
    while (!env.done()) {
      kernel.Forward(std::vector<PlacetoState>{{&graph, env.placement().data(), env.step()}}, logits);
      env.Step(static_cast<DeviceIndex>(e == 0 ? GreedyChoice(logits) : SampleChoice(logits, episode).index));
    }
    if (env.feasible()) best_us = std::min(best_us, env.makespan_us());
  }
  const PlacerResult result = Place(weights, task, options);
  EXPECT_TRUE(result.feasible);
  EXPECT_EQ(result.makespan_us, best_us);
  EXPECT_EQ(result.evaluations, 601);
}

TEST(PolicyPlacer, SameSeedSamePlacement) {
  Rng rng(11);
  const PlacementTask task = RandomTask(rng);
  const PolicyWeights weights = SmallPlaceto(task.sim.num_devices, 1);
  const PlacerResult a = Place(weights, task, {.samples = 8, .seed = 5});
  const PlacerResult b = Place(weights, task, {.samples = 8, .seed = 5});
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.makespan_us, b.makespan_us);
}

TEST(PolicyPlacer, AFeasibleSampleBeatsAFasterOneThatDoesNotFit) {
  // Two ops of 1000 parameter bytes each; a device holds one of them. Apart they fit, but the link makes that slower:
  // 10 + 500 + 10 us against 20 us.
  const auto op = [](const std::string& name, std::vector<OpInput> inputs) {
    Op made;
    made.name = name;
    made.type = "t";
    made.cost = OpCost::Everywhere(10);
    made.inputs = std::move(inputs);
    made.outputs = {{.bytes = 500, .shape = {}, .dtype = ""}};
    made.param_bytes = 1000;
    return made;
  };
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 2500}, {"d:1", "x", 2500}};
  cluster.bandwidth_bytes_per_us = 1;
  const PlacementTask task = PlacementTask::Make(OpGraph("two", {op("a", {}), op("b", {{0, 0}})}), cluster, 2);
  const PolicyWeights weights = SmallPlaceto(2, 1);
  const PlacerResult result = Place(weights, task, {.samples = 50, .seed = 1});
  EXPECT_TRUE(result.feasible);
  EXPECT_EQ(result.makespan_us, 520);
  EXPECT_NE(result.groups[0], result.groups[1]);
}

TEST(PolicyPlacer, WeightsTooGreatToComputeWithAreRefused) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng);
  PlacetoShape shape;
  shape.num_devices = task.sim.num_devices;
  PolicyWeights weights = InitialPlaceto(shape, rng);
  for (float& value : weights.values) value = 1e30F;  // Finite, but not what comes of them.
  for (const int32_t samples : {0, 3}) EXPECT_THROW(Place(weights, task, {.samples = samples}), Error);
}

TEST(PolicyPlacer, SaysWhenThePolicyIsForAnotherNumberOfDevices) {
  Rng rng(2);
  const PlacementTask task = RandomTask(rng);
  const PolicyWeights weights = SmallPlaceto(task.sim.num_devices + 1, 1);
  EXPECT_THROW(Place(weights, task, {}), Error);
}

}  // namespace
}  // namespace emplace
