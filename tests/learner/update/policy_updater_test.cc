#include "learner/update/policy_updater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "learner/evaluation/evaluator.h"
#include "learner/update/make_engine.h"
#include "policy/placeto/placeto_shape.h"
#include "tests/learner/episodes.h"
#include "tests/learner/update/naive_objective.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

RunConfig TestConfig() {
  RunConfig config;
  config.training.device = LearnerDevice::kCpu;
  config.training.max_states_per_update = 0;                    // All of them, unless a test says otherwise.
  config.training.entropy_end = config.training.entropy_start;  // No decay, likewise.
  config.training.gradient_clip = 1e9;
  config.training.importance_clip = 2;
  return config;
}

// Random biases too: with zero ones, an empty pool sits exactly on the kink of a relu, where differences say nothing.
PolicyWeights RandomSmallPolicy(uint64_t seed, PolicyVersion version) {
  Rng rng(seed);
  PolicyWeights weights = RandomPlacetoWeights(PlacetoShape::Of(SmallPolicy(0).shape), rng);
  weights.version = version;
  return weights;
}

// Adam starts with zero moments, so its first mean is (1 - 0.9) times the clipped gradient.
std::vector<double> FirstGradient(const PolicyUpdater& updater) {
  std::vector<double> gradient;
  for (const float mean : updater.SaveState().adam.mean) gradient.push_back(static_cast<double>(mean) / 0.1);
  return gradient;
}

double Norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// A third as likely then as now (importance 3, clipped to 2), or e times as likely (importance 1/e), in turn.
void MakeLag(std::vector<Trajectory>& batch, PolicyVersion version) {
  for (size_t e = 0; e < batch.size(); e += 2) {
    batch[e].policy_version = version;
    for (float& log_prob : batch[e].behaviour_log_prob) log_prob += e % 4 == 0 ? -std::log(3.0F) : 1.0F;
  }
}

TEST(PolicyUpdater, GradientIsThatOfTheLossByDifferences) {
  // So short that hardly a relu has its kink within it; the oracle computes in double.
  constexpr float kStep = 2e-6F;
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(1, 3);
  for (const AdvantageUnit normalize : {AdvantageUnit::kNone, AdvantageUnit::kBatch, AdvantageUnit::kGraph}) {
    RunConfig config = TestConfig();
    config.training.normalize_advantages = normalize;
    const PolicyWeights weights = RandomSmallPolicy(5, 9);
    std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 8, Rng(2));
    MakeLag(batch, 7);
    const NaiveObjective objective(tasks, config, weights, batch);

    PolicyUpdater updater(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
    const UpdateStats stats = updater.Update(batch);
    EXPECT_NEAR(stats.loss, objective.Loss(weights), 1e-4);
    EXPECT_NEAR(stats.mean_importance, objective.MeanRatio(), 1e-4);
    EXPECT_NEAR(stats.advantage_std, objective.advantage_std(), 1e-4);
    EXPECT_EQ(stats.states, std::ssize(objective.samples()));

    const std::vector<double> gradient = FirstGradient(updater);
    EXPECT_NEAR(stats.gradient_norm, Norm(gradient), 1e-4 * stats.gradient_norm);
    // Two parameters of each weight and bias.
    Rng rng(3);
    size_t begin = 0;
    for (const LayerSpec& layer : PlacetoLayers(PlacetoShape::Of(weights.shape))) {
      for (const int32_t size : {layer.in * layer.out, layer.out}) {
        for (int repeat = 0; repeat < 2; ++repeat) {
          const size_t i = begin + static_cast<size_t>(rng.UniformInt(0, size - 1));
          PolicyWeights above = weights;
          PolicyWeights below = weights;
          above.values[i] += kStep;
          below.values[i] -= kStep;
          const double distance = static_cast<double>(above.values[i]) - static_cast<double>(below.values[i]);
          const double slope = (objective.Loss(above) - objective.Loss(below)) / distance;
          EXPECT_NEAR(gradient[i], slope, 1e-4 * stats.gradient_norm) << layer.name << ", parameter " << i;
        }
        begin += static_cast<size_t>(size);
      }
    }
  }
}

TEST(PolicyUpdater, ImportanceIsExactlyOneWhenNothingLags) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(2, 2);
  const RunConfig config = TestConfig();
  const PolicyWeights weights = RandomSmallPolicy(6, 4);
  std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 4, Rng(3));
  PolicyUpdater as_sent(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  EXPECT_EQ(as_sent.Update(batch).mean_importance, 1);
  // The current version's own log-probabilities do not matter at all.
  for (Trajectory& episode : batch) {
    for (float& log_prob : episode.behaviour_log_prob) log_prob -= 0.7F;
  }
  PolicyUpdater shifted(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  EXPECT_EQ(shifted.Update(batch).mean_importance, 1);
  EXPECT_EQ(as_sent.weights().values, shifted.weights().values);
}

TEST(PolicyUpdater, ImportanceIsThatOfTheNoiseThatActionsWereDrawnWith) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(2, 2);
  RunConfig config = TestConfig();
  config.training.logits_noise = 0.5;
  config.training.logits_noise_decay_updates = 5;
  for (const PolicyVersion version : {4U, 5U}) {
    const PolicyWeights weights = RandomSmallPolicy(6, version);
    std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 4, Rng(3));
    for (Trajectory& episode : batch) {
      for (float& log_prob : episode.behaviour_log_prob) log_prob -= 0.5F;
    }
    PolicyUpdater updater(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
    EXPECT_NEAR(updater.Update(batch).mean_importance, version == 4 ? std::exp(0.5) : 1, 1e-4);
  }
}

TEST(PolicyUpdater, ImportanceBeyondTheClipCountsAsTheClip) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(3, 2);
  RunConfig config = TestConfig();
  config.training.entropy_start = 0;
  config.training.entropy_end = 0;
  const PolicyWeights weights = RandomSmallPolicy(7, 4);
  std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 4, Rng(4));
  const auto gradient_after = [&](float shift, PolicyVersion version) {
    std::vector<Trajectory> shifted = batch;
    for (Trajectory& episode : shifted) {
      episode.policy_version = version;
      for (float& log_prob : episode.behaviour_log_prob) log_prob += shift;
    }
    PolicyUpdater updater(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
    updater.Update(shifted);
    return FirstGradient(updater);
  };
  const std::vector<double> current = gradient_after(0, 4);
  const std::vector<double> clipped = gradient_after(-20, 2);
  EXPECT_EQ(clipped, gradient_after(-1, 2));  // e and e^20 both count as 2.
  for (size_t i = 0; i < current.size(); ++i) EXPECT_NEAR(clipped[i], 2 * current[i], 1e-5 * Norm(current));
}

TEST(PolicyUpdater, ClipsTheGlobalNorm) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(4, 2);
  RunConfig config = TestConfig();
  const PolicyWeights weights = RandomSmallPolicy(8, 0);
  const std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 4, Rng(5));
  PolicyUpdater whole(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  const double norm = whole.Update(batch).gradient_norm;
  config.training.gradient_clip = norm / 10;
  PolicyUpdater clipped(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  EXPECT_EQ(clipped.Update(batch).gradient_norm, norm);  // Told as it was before.
  const std::vector<double> a = FirstGradient(whole);
  const std::vector<double> b = FirstGradient(clipped);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(b[i], a[i] / 10, 1e-6 * norm);
}

TEST(PolicyUpdater, StepsAsAdamDoes) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(5, 2);
  RunConfig config = TestConfig();
  config.training.learning_rate = 1e-2;
  config.training.learning_rate_end = 1e-3;
  config.training.learning_rate_decay_updates = 3;
  PolicyUpdater updater(tasks, config, RandomSmallPolicy(9, 0),
                        MakeEngine(TestConfig().training, tasks, RandomSmallPolicy(9, 0)));
  const double rates[] = {1e-2, 7e-3, 4e-3, 1e-3, 1e-3};
  std::vector<double> mean(updater.weights().values.size());
  std::vector<double> variance(mean.size());
  for (int step = 1; step <= 5; ++step) {
    const PolicyWeights before = updater.weights();
    const std::vector<float> old_mean = updater.SaveState().adam.mean;
    const auto batch = Episodes(tasks, config.environment, before, 3, Rng(static_cast<uint64_t>(step)));
    EXPECT_NEAR(updater.Update(batch).learning_rate, rates[step - 1], 1e-12);
    EXPECT_EQ(updater.weights().version, before.version + 1);
    const std::vector<float> new_mean = updater.SaveState().adam.mean;
    for (size_t i = 0; i < mean.size(); ++i) {
      const double g = (static_cast<double>(new_mean[i]) - 0.9 * static_cast<double>(old_mean[i])) / 0.1;
      mean[i] = 0.9 * mean[i] + 0.1 * g;
      variance[i] = 0.999 * variance[i] + 0.001 * g * g;
      const double corrected = std::sqrt(variance[i] / (1 - std::pow(0.999, step))) + 1e-8;
      if (corrected < 1e-5) continue;  // Too small to get g back from the rounded mean.
      const double change = rates[step - 1] * mean[i] / (1 - std::pow(0.9, step)) / corrected;
      EXPECT_NEAR(static_cast<double>(updater.weights().values[i]), static_cast<double>(before.values[i]) - change,
                  2e-6);
    }
  }
}

TEST(PolicyUpdater, TheEntropyWeightDecaysAndPushesTowardsEvenOdds) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(6, 2);
  RunConfig config = TestConfig();
  config.training.entropy_start = 5;
  config.training.entropy_end = 1;
  config.training.entropy_decay_updates = 4;
  PolicyUpdater updater(tasks, config, RandomSmallPolicy(10, 0),
                        MakeEngine(TestConfig().training, tasks, RandomSmallPolicy(10, 0)));
  const auto batch = Episodes(tasks, config.environment, updater.weights(), 4, Rng(6));
  const double first = updater.Update(batch).entropy;
  double last = 0;
  for (const double weight : {4.0, 3.0, 2.0, 1.0, 1.0, 1.0}) {
    const UpdateStats stats = updater.Update(batch);
    EXPECT_DOUBLE_EQ(stats.entropy_weight, weight);
    last = stats.entropy;
  }
  EXPECT_GT(last, first);
}

TEST(PolicyUpdater, DrawsTheSameStatesForASeedAndVersion) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(7, 3);
  RunConfig config = TestConfig();
  config.training.max_states_per_update = 10;
  const PolicyWeights weights = RandomSmallPolicy(11, 0);
  const auto batch = Episodes(tasks, config.environment, weights, 6, Rng(7));
  const auto values_for = [&](uint64_t seed) {
    config.seed = seed;
    PolicyUpdater updater(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
    EXPECT_EQ(updater.Update(batch).states, 10);
    return updater.weights().values;
  };
  EXPECT_EQ(values_for(1), values_for(1));
  EXPECT_NE(values_for(1), values_for(2));
}

TEST(PolicyUpdater, GoesOnFromSavedStateBitForBit) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(8, 3);
  RunConfig config = TestConfig();
  config.training.max_states_per_update = 20;
  config.training.baseline_window = 3;
  config.training.normalize_advantages = AdvantageUnit::kGraph;
  config.training.entropy = EntropyGoal::kTarget;
  config.training.epochs = 2;
  config.training.imitated_episodes = 3;
  PolicyUpdater unbroken(tasks, config, SmallPolicy(12), MakeEngine(TestConfig().training, tasks, SmallPolicy(12)));
  const auto batch_for = [&](int update, const PolicyWeights& weights) {
    auto batch = Episodes(tasks, config.environment, weights, 5, Rng(static_cast<uint64_t>(update)));
    batch[0].claim = Claim::kMeasured;
    return batch;
  };
  for (int update = 0; update < 3; ++update) unbroken.Update(batch_for(update, unbroken.weights()));

  PolicyUpdater resumed(tasks, config, unbroken.weights(),
                        MakeEngine(TestConfig().training, tasks, unbroken.weights()));
  resumed.LoadState(unbroken.SaveState());
  for (int update = 3; update < 6; ++update) {
    unbroken.Update(batch_for(update, unbroken.weights()));
    resumed.Update(batch_for(update, resumed.weights()));
    EXPECT_EQ(unbroken.weights().values, resumed.weights().values);
    EXPECT_EQ(unbroken.weights().version, resumed.weights().version);
  }
  ExpectEqual(unbroken.SaveState(), resumed.SaveState());
}

// A second epoch is what an update would be from the weights of the first, had an older version acted.
TEST(PolicyUpdater, FurtherEpochsTakeTheBatchAsLagging) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(8, 2);
  RunConfig config = TestConfig();
  config.training.epochs = 2;
  config.training.learning_rate_end = config.training.learning_rate;
  const PolicyWeights weights = RandomSmallPolicy(5, 9);
  std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 4, Rng(2));
  PolicyUpdater twice(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  twice.Update(batch);
  EXPECT_EQ(twice.weights().version, 10U);
  EXPECT_EQ(twice.SaveState().adam.steps, 2);

  config.training.epochs = 1;
  PolicyUpdater first(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  first.Update(batch);
  // No baselines of before, so that the advantages are the same again; the optimizer goes on.
  PolicyUpdater second(tasks, config, first.weights(), MakeEngine(TestConfig().training, tasks, first.weights()));
  UpdaterState state = second.SaveState();
  state.adam = first.SaveState().adam;
  second.LoadState(state);
  second.Update(batch);
  EXPECT_EQ(twice.weights().values, second.weights().values);
}

// Where the policy itself has acted, PPO's first optimizer step is REINFORCE's. Later steps clip otherwise.
TEST(PolicyUpdater, PpoIsReinforceUntilThePolicyHasMoved) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(8, 2);
  const PolicyWeights weights = RandomSmallPolicy(5, 0);
  RunConfig config = TestConfig();
  const std::vector<Trajectory> batch = Episodes(tasks, config.environment, weights, 6, Rng(2));
  const auto after = [&](TrainingObjective objective, int64_t epochs) {
    config.training.objective = objective;
    config.training.epochs = epochs;
    PolicyUpdater updater(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
    updater.Update(batch);
    return updater.weights().values;
  };
  EXPECT_EQ(after(TrainingObjective::kPpo, 1), after(TrainingObjective::kReinforce, 1));
  EXPECT_NE(after(TrainingObjective::kPpo, 3), after(TrainingObjective::kReinforce, 3));
}

// Imitation alone (no advantage has any weight when all episodes are equal) makes the best episode ever likelier.
TEST(PolicyUpdater, ImitatesTheBestEpisode) {
  const Workload workload = RoomyWorkload(8, 1);
  const std::vector<PlacementTask>& tasks = workload.train;
  RunConfig config = TestConfig();
  config.training.entropy_start = config.training.entropy_end = 0;
  config.training.imitated_episodes = 2;
  const PolicyWeights weights = RandomSmallPolicy(5, 0);
  PolicyUpdater updater(tasks, config, weights, MakeEngine(TestConfig().training, tasks, weights));
  const std::vector<Trajectory> episodes = Episodes(tasks, config.environment, weights, 12, Rng(2));
  // One whose best placement is its last.
  const auto ends_best = [](const Trajectory& t) {
    return t.rho.back() <= *std::min_element(t.rho.begin() + 1, t.rho.end());
  };
  const auto best = std::ranges::find_if(episodes, ends_best);
  ASSERT_NE(best, episodes.end());
  const auto log_prob = [&] {
    double sum = 0;
    for (size_t t = 0; t < best->actions.size(); ++t) {
      sum += EvaluateNaively(updater.weights(), tasks[0], *best, static_cast<int32_t>(t)).chosen;
    }
    return sum;
  };
  double before = log_prob();
  updater.Update({*best});  // It is the first of its graph, and so without advantage.
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(log_prob(), before);
    before = log_prob();
    updater.Update({*best, *best});
  }
}

TEST(PolicyUpdater, ANonFiniteGradientNeverReachesTheWeights) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(9, 1);
  const RunConfig config = TestConfig();
  PolicyUpdater updater(tasks, config, SmallPolicy(13, 3),
                        MakeEngine(TestConfig().training, tasks, SmallPolicy(13, 3)));
  const auto batch = Episodes(tasks, config.environment, updater.weights(), 4, Rng(8));
  const std::vector<float> before = updater.weights().values;
  std::vector<Trajectory> bad = batch;
  bad[0].rho.front() = 3e38F;  // Finite, but their difference is not.
  bad[0].rho.back() = -3e38F;
  const UpdateStats stats = updater.Update(bad);
  EXPECT_FALSE(std::isfinite(stats.gradient_norm));
  EXPECT_EQ(updater.weights().values, before);
  EXPECT_EQ(updater.weights().version, 4U);
  EXPECT_EQ(updater.SaveState().adam.steps, 0);
  // Nor does it stay in the baselines.
  EXPECT_TRUE(std::isfinite(updater.Update(batch).gradient_norm));
  EXPECT_NE(updater.weights().values, before);
}

TEST(PolicyUpdater, LoadStateRefusesWhatDoesNotFit) {
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(10, 2);
  PolicyUpdater updater(tasks, TestConfig(), SmallPolicy(14),
                        MakeEngine(TestConfig().training, tasks, SmallPolicy(14)));
  const auto complaint = [&](auto damage) -> std::string {
    UpdaterState state = updater.SaveState();
    damage(state);
    try {
      updater.LoadState(state);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([](UpdaterState&) {}), "");
  EXPECT_THAT(complaint([](UpdaterState& s) { s.adam.mean.pop_back(); }), HasSubstr("parameters, expected"));
  EXPECT_THAT(complaint([](UpdaterState& s) { s.adam.variance.push_back(0); }), HasSubstr("parameters, expected"));
  EXPECT_THAT(complaint([](UpdaterState& s) { s.adam.steps = -1; }), HasSubstr("-1 steps"));
  const auto with = [&](const std::string& name, const auto& values) {
    return complaint([&](UpdaterState& s) {
      for (SafetensorsTensor& tensor : s.objective.tensors) {
        if (tensor.name == name) tensor = SafetensorsTensor::Of(name, {std::ssize(values)}, std::span(values));
      }
    });
  };
  EXPECT_THAT(with("advantage_mean_squares", std::vector<double>{1}), HasSubstr("scales of 1 graphs, expected 2"));
  EXPECT_THAT(with("entropy_weight", std::vector<double>{0}), HasSubstr("entropy_weight is not one positive number"));
  EXPECT_THAT(with("best.rho", std::vector<float>{1}), HasSubstr("1 graphs, expected 2"));
  EXPECT_THAT(with("returns.1", std::vector<float>{1}), HasSubstr("expected a multiple of"));
  EXPECT_THAT(with("returns.1", std::vector<double>{1}), HasSubstr("returns.1\": dtype is F64"));
  EXPECT_THAT(complaint([](UpdaterState& s) { s.objective.tensors.pop_back(); }), HasSubstr("lacks tensor"));
}

TEST(PolicyUpdater, LearnsToKeepADiamondTogether) {
  // Four ops of 10 us; a tensor takes 1,000 us to the other device. Best: all on one device, 40 us.
  std::vector<Op> ops(4);
  const char* const names[] = {"a", "b", "c", "d"};
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].name = names[i];
    ops[i].type = "x";
    ops[i].cost = OpCost::Everywhere(10);
    ops[i].outputs = {{.bytes = 1000, .shape = {}, .dtype = "f32"}};
  }
  ops[1].inputs = {{0, 0}};
  ops[2].inputs = {{0, 0}};
  ops[3].inputs = {{1, 0}, {2, 0}};
  Cluster cluster;
  cluster.devices = {{"d:0", "k", 1000000000}, {"d:1", "k", 1000000000}};
  cluster.bandwidth_bytes_per_us = 1;
  std::vector<PlacementTask> tasks;
  tasks.push_back(PlacementTask::Make(OpGraph("diamond", std::move(ops)), cluster, 4));
  ASSERT_EQ(tasks[0].groups.num_groups, 4);

  RunConfig config = TestConfig();
  config.training.gradient_clip = 1.25;
  config.training.learning_rate = 3e-3;
  config.training.entropy_decay_updates = 100;
  PolicyUpdater updater(tasks, config, SmallPolicy(15), MakeEngine(TestConfig().training, tasks, SmallPolicy(15)));
  for (int update = 0; update < 200; ++update) {
    updater.Update(Episodes(tasks, config.environment, updater.weights(), 8, Rng(static_cast<uint64_t>(update))));
  }
  int together = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PlacerOptions options;
    options.seed = seed;
    if (Evaluate(updater.weights(), tasks, options).geometric_mean_ratio < 1.001) ++together;
  }
  EXPECT_GE(together, 18);
}

}  // namespace
}  // namespace emplace
