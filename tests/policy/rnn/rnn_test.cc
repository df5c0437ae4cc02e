#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/rnn/rnn_kind.h"
#include "policy/rnn/rnn_model.h"
#include "policy/rnn/rnn_player.h"
#include "tests/policy/torch/gradient_check.h"
#include "tests/policy/torch/naive_parameters.h"
#include "tests/policy/torch/naive_sequence.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

PolicyWeights RandomRnn(int32_t num_devices, Rng& rng) {
  const PolicyConfig config{.kind = "rnn",
                            .initial = "",
                            .own = {{"hidden", 2 * rng.UniformInt(1, 4)},
                                    {"tanh_constant", 0.5 * static_cast<double>(rng.UniformInt(1, 8))},
                                    {"temperature", 0.5 * static_cast<double>(rng.UniformInt(1, 4))},
                                    {"output_scale", 1.0}}};
  PolicyWeights weights;
  weights.shape = RnnKind().Shape(config, num_devices);
  weights.values = RnnKind().InitialValues(weights.shape, config, rng);
  for (float& value : weights.values) value += static_cast<float>(rng.Uniform(-0.2, 0.2));
  return weights;
}

// Plays an episode with these choices; returns all logits.
std::vector<float> Play(Player& player, const TaskView& view, const std::vector<uint8_t>& choices) {
  const std::unique_ptr<PlayedEpisode> episode = player.Begin(view, {});
  PlayedEpisode* const wave[] = {episode.get()};
  Decisions decisions;
  std::vector<float> logits;
  for (const uint8_t choice : choices) {
    EXPECT_FALSE(episode->done());
    player.Next(wave, decisions);
    logits.insert(logits.end(), decisions.logits.begin(), decisions.logits.end());
    player.Apply(wave, std::vector{choice});
  }
  EXPECT_TRUE(episode->done());
  EXPECT_TRUE(std::ranges::equal(episode->placement(), choices));
  return logits;
}

TEST(Rnn, PlayerAndModelEqualTheNaiveNetwork) {
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    Rng rng(seed);
    const std::vector<PlacementTask> tasks = {RandomTask(rng, {.max_ops = 20, .max_groups = 10, .restricted = 0.2})};
    const GroupGraph& groups = tasks[0].groups;
    const PolicyWeights weights = RandomRnn(groups.num_devices, rng);
    const SequenceShape shape = RnnSequence(weights.shape);
    const NaiveParameters parameters(SequenceParameters(shape), weights.values);
    const NaiveSequence naive(shape, parameters);
    const std::vector<NaiveVector> features = NaiveGroups(groups);
    std::vector<Trajectory> episodes(3);
    std::vector<Sample> samples;
    for (Trajectory& episode : episodes) {
      episode.actions = RandomGroups(groups, rng);
      samples.push_back({samples.size(), 0});
    }
    Decisions decisions;
    MakeRnnModel(weights.shape, tasks)->Forward(weights.values, episodes, samples, decisions);
    const std::unique_ptr<Player> player = MakeRnnPlayer(weights.shape);
    player->SetWeights(weights);
    const std::unique_ptr<TaskView> view = player->View(tasks[0]);
    size_t at = 0;
    for (const Trajectory& episode : episodes) {
      const std::vector<float> played = Play(*player, *view, episode.actions);
      ASSERT_EQ(played.size(), groups.allowed.size());
      size_t i = 0;
      for (const NaiveVector& row : naive.Logits(features, episode.actions)) {
        for (const double expected : row) {
          if (groups.allowed[i] == 1) {
            ASSERT_NEAR(static_cast<double>(played[i]), expected, 1e-4) << "seed " << seed;
            ASSERT_NEAR(static_cast<double>(decisions.logits[at + i]), expected, 1e-4) << "seed " << seed;
          } else {
            ASSERT_TRUE(std::isinf(played[i]) && std::isinf(decisions.logits[at + i]));
          }
          ++i;
        }
      }
      at += i;
    }
    ASSERT_EQ(at, decisions.logits.size());
  }
}

// Two episodes of a wave have the bits that each has alone.
TEST(Rnn, AnEpisodeHasTheSameBitsBesideOthers) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng, {.max_ops = 20, .max_groups = 8});
  const PolicyWeights weights = RandomRnn(task.groups.num_devices, rng);
  const std::unique_ptr<Player> player = MakeRnnPlayer(weights.shape);
  player->SetWeights(weights);
  const std::unique_ptr<TaskView> view = player->View(task);
  const std::vector<uint8_t> first = RandomGroups(task.groups, rng);
  const std::vector<uint8_t> second = RandomGroups(task.groups, rng);
  std::vector<std::unique_ptr<PlayedEpisode>> episodes;
  for (int e = 0; e < 2; ++e) episodes.push_back(player->Begin(*view, {}));
  PlayedEpisode* const wave[] = {episodes[0].get(), episodes[1].get()};
  Decisions decisions;
  std::vector<float> together;
  for (size_t g = 0; g < first.size(); ++g) {
    player->Next(wave, decisions);
    const auto half = static_cast<std::ptrdiff_t>(decisions.logits.size() / 2);
    together.insert(together.end(), decisions.logits.begin() + half, decisions.logits.end());
    player->Apply(wave, std::vector{first[g], second[g]});
  }
  EXPECT_EQ(together, Play(*player, *view, second));
}

TEST(Rnn, GradientIsTheDerivative) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    std::vector<PlacementTask> tasks;
    while (tasks.size() < 2) {
      PlacementTask task = RandomTask(rng, {.max_ops = 20, .max_groups = 8});
      if (task.groups.num_devices == 2) tasks.push_back(std::move(task));
    }
    const PolicyWeights weights = RandomRnn(2, rng);
    const std::unique_ptr<Model> model = MakeRnnModel(weights.shape, tasks);
    std::vector<Trajectory> episodes(5);
    std::vector<Sample> samples;
    for (Trajectory& episode : episodes) {
      episode.graph = static_cast<GraphId>(samples.size() / 3);
      episode.actions = RandomGroups(tasks[episode.graph].groups, rng);
      samples.push_back({samples.size(), 0});
    }
    SCOPED_TRACE(seed);
    ExpectGradientIsTheDerivative(*model, weights.values, episodes, samples, rng);
  }
}

}  // namespace
}  // namespace emplace
