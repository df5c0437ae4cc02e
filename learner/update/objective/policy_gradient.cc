#include "learner/update/objective/policy_gradient.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/rng.h"
#include "common/strings.h"
#include "learner/update/objective/make_loss.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

constexpr char kSource[] = "objective";  // Names the state in errors.
constexpr char kEntropyWeight[] = "entropy_weight";
constexpr char kMeanSquares[] = "advantage_mean_squares";
constexpr char kBestRho[] = "best.rho";

std::string ReturnsName(size_t graph) { return StrCat("returns.", graph); }
std::string MeasuredReturnsName(size_t graph) { return StrCat("returns.", graph, ".measured"); }
std::string BestStartName(size_t graph) { return StrCat("best.", graph, ".start"); }
std::string BestActionsName(size_t graph) { return StrCat("best.", graph, ".actions"); }

}  // namespace

PolicyGradient::PolicyGradient(const std::vector<PlacementTask>& tasks, const RunConfig& config,
                               const PolicyShape& shape)
    : tasks_(tasks),
      config_(config.training),
      seed_(config.seed),
      kind_(FindPolicyKind(shape.kind)),
      baselines_(tasks.size(), config.training.baseline, config.training.baseline_window, config.training.discount),
      scale_(config.training.normalize_advantages, tasks.size()),
      best_(tasks, kind_),
      entropy_(config.training, kind_.MostChoices(shape.num_devices)) {}

std::span<const Trajectory> PolicyGradient::WithImitated(const std::vector<Trajectory>& batch, PolicyVersion version) {
  if (config_.imitated_episodes == 0) return batch;
  best_.Consider(batch);
  Rng rng = Rng(seed_).Fork("imitation", version);
  with_imitated_ = batch;
  std::ranges::move(best_.Draw(config_.imitated_episodes, rng), std::back_inserter(with_imitated_));
  return with_imitated_;
}

size_t PolicyGradient::NumReturns(size_t decisions) const {
  return kind_.reward_time() == RewardTime::kEachDecision ? decisions : 1;
}

std::vector<Sample> PolicyGradient::DrawSamples(std::span<const Trajectory> episodes, PolicyVersion version) const {
  std::vector<Sample> samples;
  for (size_t e = 0; e < episodes.size(); ++e) {
    const size_t count = NumReturns(episodes[e].actions.size());
    for (size_t t = 0; t < count; ++t) samples.push_back({e, static_cast<int32_t>(t)});
  }
  const auto wanted = static_cast<size_t>(config_.max_states_per_update);
  if (wanted > 0 && wanted < samples.size()) {
    // Named by the version, so that a resumed run draws what an unbroken one would have drawn.
    Rng rng = Rng(seed_).Fork("update", version);
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

LossSpec PolicyGradient::Loss(double entropy_weight) const {
  switch (config_.objective) {
    case TrainingObjective::kReinforce:
      return {LossKind::kReinforce, config_.importance_clip, entropy_weight};
    case TrainingObjective::kPpo:
      return {LossKind::kPpo, config_.proximal_clip, entropy_weight};
    case TrainingObjective::kEvolution:  // It has no loss (evolution_updater.h).
      break;
  }
  EMPLACE_CHECK(false);
  return {};
}

bool PolicyGradient::HasNoise(PolicyVersion version) const {
  return config_.logits_noise > 0 && static_cast<int64_t>(version) < config_.logits_noise_decay_updates;
}

const Lesson& PolicyGradient::Prepare(const std::vector<Trajectory>& batch, PolicyVersion version) {
  const std::vector<std::vector<float>> advantages = baselines_.AdvantagesThenAdd(batch);
  lesson_ = Lesson();
  lesson_.advantage_std = StandardDeviation(advantages);
  lesson_.entropy_weight = entropy_.Weight(version);
  const std::vector<double> factors = scale_.Factors(batch, advantages, lesson_.advantage_std);
  lesson_.episodes = WithImitated(batch, version);
  lesson_.samples = DrawSamples(lesson_.episodes, version);
  for (const Sample& sample : lesson_.samples) {
    const Trajectory& episode = lesson_.episodes[sample.episode];
    const bool imitated = sample.episode >= batch.size();
    auto advantage = static_cast<float>(config_.imitation_weight);
    if (!imitated) {
      const auto own = static_cast<double>(advantages[sample.episode][static_cast<size_t>(sample.decision)]);
      advantage = static_cast<float>(factors[sample.episode] * own);
    }
    const size_t decisions = kind_.DecisionsOfSample(episode);
    lesson_.advantages.insert(lesson_.advantages.end(), decisions, advantage);
    // What is imitated is taken as if the policy at hand had chosen it. What was drawn with noise was not, even by the
    // same version.
    const bool chose_otherwise = !imitated && (episode.policy_version != version || HasNoise(episode.policy_version));
    lesson_.lags.insert(lesson_.lags.end(), decisions, chose_otherwise ? 1.0F : 0.0F);
    lesson_.later_lags.insert(lesson_.later_lags.end(), decisions, imitated ? 0.0F : 1.0F);
  }
  loss_ = MakeLoss(Loss(lesson_.entropy_weight));
  return lesson_;
}

SafetensorsFile PolicyGradient::Save() const {
  SafetensorsFile state;
  const auto add = [&]<typename T>(const std::string& name, const std::vector<T>& values) {
    state.tensors.push_back(SafetensorsTensor::Of<T>(name, {std::ssize(values)}, values));
  };
  const Baselines::Returns returns = baselines_.Save();
  std::vector<float> best_rho;
  for (size_t graph = 0; graph < tasks_.size(); ++graph) {
    const BestEpisode& best = best_.best()[graph];
    add(ReturnsName(graph), returns.simulated[graph]);
    // Only where there are some, so that what has no measured rewards reads and writes what it always has.
    if (!returns.measured[graph].empty()) add(MeasuredReturnsName(graph), returns.measured[graph]);
    add(BestStartName(graph), best.start_placement);
    add(BestActionsName(graph), best.actions);
    best_rho.push_back(best.rho);
  }
  add(kBestRho, best_rho);
  add(kMeanSquares, scale_.mean_squares());
  add(kEntropyWeight, std::vector<double>{entropy_.steered_weight()});
  return state;
}

void PolicyGradient::Load(const SafetensorsFile& state) {
  const std::vector<double> weight = state.Get(kEntropyWeight, kSource).Values<double>(kSource);
  if (weight.size() != 1 || !(weight.front() > 0)) {
    throw BadInput(StrCat(kSource, ": ", kEntropyWeight, " is not one positive number"));
  }
  const std::vector<float> best_rho = state.Get(kBestRho, kSource).Values<float>(kSource);
  if (best_rho.size() != tasks_.size()) {
    throw BadInput(StrCat(kSource, ": best episodes of ", best_rho.size(), " graphs, expected ", tasks_.size()));
  }
  Baselines::Returns returns;
  std::vector<BestEpisode> best;
  std::vector<int32_t> steps;
  for (size_t graph = 0; graph < tasks_.size(); ++graph) {
    returns.simulated.push_back(state.Get(ReturnsName(graph), kSource).Values<float>(kSource));
    const SafetensorsTensor* const measured = state.Find(MeasuredReturnsName(graph));
    returns.measured.push_back(measured == nullptr ? std::vector<float>() : measured->Values<float>(kSource));
    best.push_back({state.Get(BestStartName(graph), kSource).Values<uint8_t>(kSource),
                    state.Get(BestActionsName(graph), kSource).Values<uint8_t>(kSource), best_rho[graph]});
    const auto decisions = static_cast<size_t>(tasks_[graph].groups.num_groups);
    steps.push_back(static_cast<int32_t>(NumReturns(decisions)));
  }
  baselines_.Load(returns, steps);
  scale_.Load(state.Get(kMeanSquares, kSource).Values<double>(kSource));
  best_.Load(std::move(best));
  entropy_.LoadSteeredWeight(weight.front());
}

}  // namespace emplace
