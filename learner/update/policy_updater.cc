#include "learner/update/policy_updater.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "common/rng.h"
#include "common/strings.h"
#include "learner/update/schedule.h"
#include "policy/policy_kinds.h"

namespace emplace {

PolicyUpdater::PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial,
                             std::unique_ptr<UpdateEngine> engine)
    : tasks_(tasks),
      config_(config.training),
      seed_(config.seed),
      weights_(std::move(initial)),
      kind_(FindPolicyKind(weights_.shape.kind)),
      engine_(std::move(engine)),
      baselines_(tasks.size(), config.training.baseline_window, config.training.discount),
      scale_(config.training.normalize_advantages, tasks.size()),
      best_(tasks, kind_),
      entropy_(config.training, weights_.shape.num_devices) {}

std::vector<Trajectory> PolicyUpdater::WithImitated(const std::vector<Trajectory>& batch) {
  best_.Consider(batch);
  Rng rng = Rng(seed_).Fork("imitation", weights_.version);
  std::vector<Trajectory> episodes = batch;
  std::ranges::move(best_.Draw(config_.imitated_episodes, rng), std::back_inserter(episodes));
  return episodes;
}

std::vector<Sample> PolicyUpdater::DrawSamples(std::span<const Trajectory> episodes) const {
  const bool decision_by_decision = kind_.reward_time() == RewardTime::kEachDecision;
  std::vector<Sample> samples;
  for (size_t e = 0; e < episodes.size(); ++e) {
    const size_t count = decision_by_decision ? episodes[e].actions.size() : 1;
    for (size_t t = 0; t < count; ++t) samples.push_back({e, static_cast<int32_t>(t)});
  }
  const auto wanted = static_cast<size_t>(config_.max_states_per_update);
  if (wanted > 0 && wanted < samples.size()) {
    // Named by the version, so that a resumed run draws what an unbroken one would have drawn.
    Rng rng = Rng(seed_).Fork("update", weights_.version);
    for (size_t i = 0; i < wanted; ++i) {
      std::swap(samples[i],
                samples[static_cast<size_t>(rng.UniformInt(static_cast<int64_t>(i), std::ssize(samples) - 1))]);
    }
    samples.resize(wanted);
  }
  // Neighbouring steps of a graph have most of their ancestors and descendants in common, which kernels make use of.
  std::stable_sort(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) {
    return std::tuple(episodes[a.episode].graph, a.decision, a.episode) <
           std::tuple(episodes[b.episode].graph, b.decision, b.episode);
  });
  return samples;
}

StepOutcome PolicyUpdater::Step(const UpdateInputs& inputs) {
  const StepOutcome outcome = engine_->Step(inputs, weights_.values);
  if (!std::isfinite(outcome.gradient_norm)) {
    LogWarning(StrCat("update ", weights_.version + 1, ": the gradient is not finite; the weights stay as they are"));
  }
  return outcome;
}

UpdateStats PolicyUpdater::Update(const std::vector<Trajectory>& batch) {
  EMPLACE_CHECK(!batch.empty());
  const PolicyVersion done = weights_.version;
  UpdateStats stats;
  stats.learning_rate =
      LinearSchedule(config_.learning_rate, config_.learning_rate_end, config_.learning_rate_decay_updates, done);
  stats.entropy_weight = entropy_.Weight(done);

  const std::vector<std::vector<float>> advantages = baselines_.AdvantagesThenAdd(batch);
  stats.advantage_std = StandardDeviation(advantages);
  const std::vector<double> factors = scale_.Factors(batch, advantages, stats.advantage_std);

  const std::vector<Trajectory> with_imitated =
      config_.imitated_episodes > 0 ? WithImitated(batch) : std::vector<Trajectory>();
  const std::span<const Trajectory> episodes = with_imitated.empty() ? batch : with_imitated;
  const std::vector<Sample> samples = DrawSamples(episodes);
  stats.states = std::ssize(samples);
  std::vector<float> scaled;
  std::vector<float> lags;
  // By the second epoch another policy than the one at hand has acted in all of the batch.
  std::vector<float> later_lags;
  const bool all_at_once = kind_.reward_time() == RewardTime::kEnd;
  for (const Sample& sample : samples) {
    const bool imitated = sample.episode >= batch.size();
    const size_t decisions = all_at_once ? episodes[sample.episode].actions.size() : 1;
    float advantage = static_cast<float>(config_.imitation_weight);
    if (!imitated) {
      const auto own = static_cast<double>(advantages[sample.episode][static_cast<size_t>(sample.decision)]);
      advantage = static_cast<float>(factors[sample.episode] * own);
    }
    scaled.insert(scaled.end(), decisions, advantage);
    // What is imitated is taken as if the policy at hand had chosen it.
    const bool lags_behind = !imitated && episodes[sample.episode].policy_version != weights_.version;
    lags.insert(lags.end(), decisions, lags_behind ? 1.0F : 0.0F);
    later_lags.insert(later_lags.end(), decisions, imitated ? 0.0F : 1.0F);
  }
  UpdateInputs inputs{.episodes = episodes,
                      .samples = samples,
                      .advantages = scaled,
                      .lags = lags,
                      .importance_clip = config_.importance_clip,
                      .entropy_weight = stats.entropy_weight,
                      .gradient_clip = config_.gradient_clip,
                      .learning_rate = stats.learning_rate};
  const StepOutcome outcome = Step(inputs);
  inputs.lags = later_lags;
  for (int64_t epoch = 1; epoch < config_.epochs; ++epoch) Step(inputs);

  entropy_.Observe(done, outcome.entropy);
  stats.loss = outcome.loss;
  stats.entropy = outcome.entropy;
  stats.mean_importance = outcome.mean_importance;
  stats.gradient_norm = outcome.gradient_norm;
  ++weights_.version;
  return stats;
}

UpdaterState PolicyUpdater::SaveState() const {
  return {.adam = engine_->SaveAdam(),
          .entropy_weight = entropy_.steered_weight(),
          .recent_returns = baselines_.Save(),
          .mean_squares = scale_.mean_squares(),
          .best_episodes = best_.best()};
}

void PolicyUpdater::LoadState(const UpdaterState& state) {
  const size_t parameters = weights_.values.size();
  if (state.adam.mean.size() != parameters || state.adam.variance.size() != parameters) {
    throw BadInput(StrCat("optimizer state of ", state.adam.mean.size(), " parameters, expected ", parameters));
  }
  if (state.adam.steps < 0) throw BadInput(StrCat("optimizer state after ", state.adam.steps, " steps"));
  if (!(state.entropy_weight > 0)) {
    throw BadInput(StrCat("optimizer state with entropy weight ", state.entropy_weight, ", expected a positive one"));
  }
  std::vector<int32_t> steps;
  for (const PlacementTask& task : tasks_) {
    steps.push_back(kind_.reward_time() == RewardTime::kEachDecision ? task.groups.num_groups : 1);
  }
  baselines_.Load(state.recent_returns, steps);
  best_.Load(state.best_episodes);
  scale_.Load(state.mean_squares);
  entropy_.LoadSteeredWeight(state.entropy_weight);
  engine_->LoadAdam(state.adam);
}

}  // namespace emplace
