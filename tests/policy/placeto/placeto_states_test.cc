// The states that the player and the model make of episodes are those that the shape says a policy sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "policy/models.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/players.h"
#include "tests/support/event_queue_oracle.h"
#include "tests/support/naive_policy.h"
#include "tests/support/random_policy.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

// An episode on the task in which `start` and `actions` are given; the logits of its decisions, as a player has them.
std::vector<float> PlayedLogits(const PolicyWeights& weights, const PlacementTask& task, const Trajectory& episode) {
  const std::unique_ptr<Player> player = MakePlayer(weights);
  const std::unique_ptr<TaskView> view = player->View(task);
  const std::unique_ptr<PlayedEpisode> played = player->Begin(*view, episode.start_placement);
  const std::array<PlayedEpisode*, 1> wave = {played.get()};
  std::vector<float> logits;
  Decisions decisions;
  for (const uint8_t action : episode.actions) {
    player->Next(wave, decisions);
    logits.insert(logits.end(), decisions.logits.begin(), decisions.logits.end());
    player->Apply(wave, std::array{action});
  }
  EXPECT_TRUE(played->done());
  EXPECT_TRUE(std::ranges::equal(played->placement(), episode.actions));  // Whatever the policy sees.
  return logits;
}

std::vector<float> LearnedLogits(const PolicyWeights& weights, const PlacementTask& task, const Trajectory& episode) {
  std::vector<Sample> samples;
  for (int32_t step = 0; step < task.groups.num_groups; ++step) samples.push_back({.episode = 0, .decision = step});
  Decisions decisions;
  MakeModel(weights.shape, {task})->Forward(weights.values, std::vector{episode}, samples, decisions);
  return decisions.logits;
}

// When the first op of each group starts, by the simulator of the tests, over the makespan.
std::vector<float> ExpectedStartTimes(const RandomTaskSource& source, const PlacementTask& task,
                                      const std::vector<uint8_t>& groups) {
  Placement placement;
  for (const GroupIndex group : task.group_of_op) placement.push_back(groups[static_cast<size_t>(group)]);
  const OracleRun run = SimulateByEventQueue(source.graph, source.cluster, placement);
  std::vector<float> times(groups.size(), 1.0F);
  for (size_t op = 0; op < placement.size(); ++op) {
    float& time = times[static_cast<size_t>(task.group_of_op[op])];
    const double share = run.makespan_us > 0 ? run.start_us[op] / run.makespan_us : 0;
    time = std::min(time, static_cast<float>(share));
  }
  return times;
}

// Features and placements made here once more, from the task alone.
std::vector<double> ExpectedLogits(const PolicyWeights& weights, const RandomTaskSource& source,
                                   const PlacementTask& task, const Trajectory& episode) {
  const PlacetoGraph graph(task.groups);
  std::vector<double> logits;
  std::vector<uint8_t> seen = episode.start_placement;
  for (int32_t step = 0; step < graph.num_nodes; ++step) {
    const std::vector<float> start_times = ExpectedStartTimes(source, task, seen);
    const std::vector<double> own = NaivePlacetoLogits(weights, {&graph, seen.data(), step, start_times.data()});
    logits.insert(logits.end(), own.begin(), own.end());
    const auto group = static_cast<size_t>(step);
    seen[group] = episode.actions[group];
  }
  return logits;
}

TEST(PlacetoStates, PlayerAndModelSeeWhatTheShapeSays) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 30, .restricted = 0.2});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    PlacetoShape shape = RandomPlacetoShape(rng);
    shape.num_devices = task.groups.num_devices;
    shape.start_times = seed % 3 == 0;
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    Trajectory episode;
    episode.start_placement = RandomGroups(task.groups, rng);
    episode.actions = RandomGroups(task.groups, rng);

    const std::vector<double> expected = ExpectedLogits(weights, source, task, episode);
    const std::vector<float> played = PlayedLogits(weights, task, episode);
    const std::vector<float> learned = LearnedLogits(weights, task, episode);
    ASSERT_EQ(played.size(), expected.size());
    ASSERT_EQ(learned.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::isinf(expected[i])) {
        EXPECT_EQ(static_cast<double>(played[i]), expected[i]) << "seed " << seed;
        EXPECT_EQ(static_cast<double>(learned[i]), expected[i]) << "seed " << seed;
        continue;
      }
      const double tolerance = 1e-4 * (1 + std::abs(expected[i]));
      EXPECT_NEAR(static_cast<double>(played[i]), expected[i], tolerance) << "seed " << seed;
      EXPECT_NEAR(static_cast<double>(learned[i]), expected[i], tolerance) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace emplace
