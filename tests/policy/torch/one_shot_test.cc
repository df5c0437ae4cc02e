#include "policy/torch/one_shot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "policy/balanced_choice.h"
#include "policy/placer/policy_placer.h"
#include "policy/sample_choice.h"
#include "policy/sgdp/sgdp_network.h"
#include "tests/policy/sgdp/random_sgdp.h"
#include "tests/policy/torch/gradient_check.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

// Some graphs, and a policy for the devices that all of them have.
struct Setting {
  explicit Setting(uint64_t seed) {
    Rng rng(seed);
    tasks = RandomTasks(rng, 3, 3, {.max_ops = 30, .max_groups = 15, .restricted = 0.2});
    weights = RandomSgdp(3, rng);
    for (const GraphId graph : {0U, 0U, 2U, 1U, 0U}) {
      Trajectory& episode = episodes.emplace_back();
      episode.graph = graph;
      samples.push_back({episodes.size() - 1, 0});
    }
  }
  std::unique_ptr<Player> MakePlayer() const {
    auto player = MakeOneShotPlayer(weights.shape, MakeSgdpNetwork(weights.shape));
    player->SetWeights(weights);
    return player;
  }
  std::unique_ptr<Model> MakeModel() const {
    return MakeOneShotModel(weights.shape, MakeSgdpNetwork(weights.shape), tasks, c10::DeviceType::CPU);
  }

  std::vector<PlacementTask> tasks;
  PolicyWeights weights;
  std::vector<Trajectory> episodes;
  std::vector<Sample> samples;
};

std::vector<float> LogitsOf(Player& player, const TaskView& view) {
  const std::unique_ptr<PlayedEpisode> episode = player.Begin(view, {});
  PlayedEpisode* const wave[] = {episode.get()};
  Decisions decisions;
  player.Next(wave, decisions);
  return decisions.logits;
}

TEST(OneShot, PlayerAndModelHaveTheSameLogits) {
  const Setting setting(1);
  Decisions decisions;
  setting.MakeModel()->Forward(setting.weights.values, setting.episodes, setting.samples, decisions);
  const std::unique_ptr<Player> player = setting.MakePlayer();
  ASSERT_EQ(decisions.blocks.size(), setting.samples.size());
  std::span<const float> rest = decisions.logits;
  for (const Trajectory& episode : setting.episodes) {
    const PlacementTask& task = setting.tasks[episode.graph];
    const std::vector<float> expected = LogitsOf(*player, *player->View(task));
    ASSERT_EQ(expected.size(), task.groups.allowed.size());
    EXPECT_TRUE(std::ranges::equal(expected, rest.first(expected.size())));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(std::isinf(expected[i]), task.groups.allowed[i] == 0);
    rest = rest.subspan(expected.size());
  }
  EXPECT_TRUE(rest.empty());
}

TEST(OneShot, AnEpisodeIsOverWithItsChoices) {
  const Setting setting(2);
  const std::unique_ptr<Player> player = setting.MakePlayer();
  std::vector<std::unique_ptr<TaskView>> views;
  std::vector<std::unique_ptr<PlayedEpisode>> episodes;
  std::vector<PlayedEpisode*> wave;
  std::vector<uint8_t> choices;
  for (const PlacementTask& task : setting.tasks) {
    views.push_back(player->View(task));
    episodes.push_back(player->Begin(*views.back(), {}));
    wave.push_back(episodes.back().get());
    for (int32_t g = 0; g < task.groups.num_groups; ++g) choices.push_back(static_cast<uint8_t>((g + 1) % 3));
  }
  Decisions decisions;
  player->Next(wave, decisions);
  EXPECT_FALSE(wave[0]->done());
  player->Apply(wave, choices);
  std::span<const uint8_t> rest = choices;
  for (const PlayedEpisode* const episode : wave) {
    EXPECT_TRUE(episode->done());
    EXPECT_TRUE(std::ranges::equal(episode->placement(), rest.first(episode->placement().size())));
    rest = rest.subspan(episode->placement().size());
  }
}

TEST(OneShot, NewWeightsGiveNewLogits) {
  Setting setting(3);
  const std::unique_ptr<Player> player = setting.MakePlayer();
  const std::unique_ptr<TaskView> view = player->View(setting.tasks[0]);
  const std::vector<float> before = LogitsOf(*player, *view);
  EXPECT_EQ(LogitsOf(*player, *view), before);
  for (float& value : setting.weights.values) value += 0.1F;
  player->SetWeights(setting.weights);
  EXPECT_NE(LogitsOf(*player, *view), before);
}

TEST(OneShot, AGreedyPlacementIsBalancedIfThePolicySaysSo) {
  int differ = 0;
  for (uint64_t seed = 20; seed < 40; ++seed) {
    Setting setting(seed);
    const PlacementTask& task = setting.tasks[0];
    std::vector<std::vector<uint8_t>> placements;
    for (const bool balanced : {false, true}) {
      setting.weights.shape.sizes["balanced"] = balanced ? 1 : 0;
      const std::unique_ptr<Player> player = setting.MakePlayer();
      std::vector<uint8_t> expected;
      BalancedChoice choice(3);
      const std::vector<float> logits = LogitsOf(*player, *player->View(task));
      for (size_t g = 0; g < logits.size() / 3; ++g) {
        const std::span<const float> row = std::span(logits).subspan(3 * g, 3);
        expected.push_back(
            static_cast<uint8_t>(balanced ? choice.Next(row, task.groups.cost_us[g]) : GreedyChoice(row)));
      }
      placements.push_back(PlaceWithPolicy(*player, task, {.samples = 0}).groups);
      ASSERT_EQ(placements.back(), expected) << "seed " << seed;
    }
    differ += placements[0] != placements[1] ? 1 : 0;
  }
  EXPECT_GT(differ, 5);
}

// The graphs fit into one segment each: from the segment before no gradient would come back.
TEST(OneShot, GradientIsTheDerivative) {
  for (uint64_t seed = 4; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Setting setting(seed);
    setting.weights.shape.sizes["segment"] = 64;
    Rng rng(seed);
    ExpectGradientIsTheDerivative(*setting.MakeModel(), setting.weights.values, setting.episodes, setting.samples, rng);
  }
}

TEST(OneShot, GradientsAreAddedForEachParameter) {
  const Setting setting(4);
  const std::unique_ptr<Model> model = setting.MakeModel();
  Decisions decisions;
  const auto gradient_from = [&](float before) {
    model->Forward(setting.weights.values, setting.episodes, setting.samples, decisions);
    std::vector<float> gradient(setting.weights.values.size(), before);
    model->Backward(std::vector<float>(decisions.logits.size(), 1.0F), gradient);
    return gradient;
  };
  const std::vector<float> once = gradient_from(0);
  const std::vector<float> added = gradient_from(1);
  for (size_t i = 0; i < once.size(); ++i)
    EXPECT_NEAR(added[i], once[i] + 1, 1e-4 * (1 + std::abs(static_cast<double>(once[i]))));
  // The last parameter is the bias of the last device: each group of each sample adds 1.
  EXPECT_FLOAT_EQ(once.back(), static_cast<float>(decisions.logits.size()) / 3);
}

}  // namespace
}  // namespace emplace
