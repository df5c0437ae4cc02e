#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "policy/rnn/rnn_kind.h"
#include "policy/rnn/rnn_model.h"
#include "policy/rnn/rnn_player.h"
#include "tests/policy/torch/gradient_check.h"
#include "tests/policy/torch/naive_parameters.h"
#include "tests/policy/torch/naive_sequence.h"
#include "tests/policy/torch/play_beside.h"
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
    const std::unique_ptr<Player> player = MakeRnnPlayer(weights.shape);
    player->SetWeights(weights);
    const std::unique_ptr<TaskView> view = player->View(tasks[0]);
    std::vector<Trajectory> episodes;
    std::vector<Sample> samples;
    std::vector<std::vector<float>> played_logits;
    for (uint64_t e = 0; e < 3; ++e) {
      Played one = PlayBeside(*player, *view, 0, 100 * seed + e);
      ASSERT_EQ(one.placement, one.trajectory.actions);
      samples.push_back({episodes.size(), 0});
      episodes.push_back(std::move(one.trajectory));
      played_logits.push_back(std::move(one.logits));
    }
    Decisions decisions;
    MakeRnnModel(weights.shape, tasks, c10::DeviceType::CPU)->Forward(weights.values, episodes, samples, decisions);
    size_t at = 0;
    for (size_t e = 0; e < episodes.size(); ++e) {
      const std::vector<float>& played = played_logits[e];
      ASSERT_EQ(played.size(), groups.allowed.size());
      size_t i = 0;
      for (const NaiveVector& row : naive.Logits(features, episodes[e].actions)) {
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

TEST(Rnn, AnEpisodeHasTheSameBitsBesideOthers) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng, {.max_ops = 20, .max_groups = 8});
  const PolicyWeights weights = RandomRnn(task.groups.num_devices, rng);
  const std::unique_ptr<Player> player = MakeRnnPlayer(weights.shape);
  player->SetWeights(weights);
  ExpectSameBitsBesideOthers(*player, *player->View(task), 1);
}

TEST(Rnn, GradientIsTheDerivative) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    const std::vector<PlacementTask> tasks = RandomTasks(rng, 2, 2, {.max_ops = 20, .max_groups = 8});
    const PolicyWeights weights = RandomRnn(2, rng);
    const std::unique_ptr<Model> model = MakeRnnModel(weights.shape, tasks, c10::DeviceType::CPU);
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
