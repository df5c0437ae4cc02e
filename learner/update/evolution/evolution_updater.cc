#include "learner/update/evolution/evolution_updater.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "common/quantile.h"
#include "common/strings.h"
#include "learner/update/evolution/cma.h"
#include "learner/update/evolution/openai_es.h"
#include "policy/gaussian.h"
#include "policy/policy_kinds.h"
#include "policy/trials/trial_runner.h"

namespace emplace {
namespace {

// The names of these numbers in checkpoints.
constexpr char kAverage[] = "evolution.average";
constexpr char kAverageCount[] = "evolution.averaged";

std::vector<double> Doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

size_t LearnedOf(const RunConfig& config) {
  const PolicyKind& kind = FindPolicyKind(config.policy.kind);
  return static_cast<size_t>(kind.Parameters(kind.Shape(config.policy, 0)).front().shape.front());
}

std::unique_ptr<EvolutionStrategy> StrategyOf(const RunConfig& config, const PolicyWeights& weights) {
  const Gaussian policy(weights);
  const size_t n = policy.mean.size();
  const size_t learned = LearnedOf(config);
  const std::vector<double> mean = Doubles(policy.mean.first(learned));
  std::vector<double> spread;
  for (size_t row = 0; row < learned; ++row) {
    const std::vector<double> block = Doubles(policy.spread.subspan(row * n, learned));
    spread.insert(spread.end(), block.begin(), block.end());
  }
  const EvolutionConfig& own = config.evolution;
  if (own.algorithm == EvolutionAlgorithm::kCma) return std::make_unique<Cma>(mean, spread);
  return std::make_unique<OpenAiEs>(
      mean, spread, OpenAiEsOptions{.learning_rate = own.learning_rate, .spread_decay = own.spread_decay});
}

float Narrow(double value) { return static_cast<float>(value); }

// Of the parameters that are learned; others stay as they are.
void SetMean(std::span<const double> mean, PolicyWeights& weights) {
  std::ranges::transform(mean, weights.values.begin(), Narrow);
}

double SumOfSquares(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

double RootMeanSquare(std::span<const double> values, double count) { return std::sqrt(SumOfSquares(values) / count); }

}  // namespace

EvolutionUpdater::EvolutionUpdater(const RunConfig& config, PolicyWeights initial)
    : config_(config),
      weights_(std::move(initial)),
      strategy_(StrategyOf(config, weights_)),
      average_(strategy_->mean(), config.evolution.average_power) {}

std::vector<double> EvolutionUpdater::LossesOf(const std::vector<Trajectory>& batch) const {
  const auto population = static_cast<size_t>(config_.evolution.population);
  const size_t problems = batch.size() / population;
  const double clip = config_.evolution.score_clip;
  std::vector<double> losses(population, 0.0);
  std::vector<double> scores(population);
  for (size_t problem = 0; problem < problems; ++problem) {
    for (size_t candidate = 0; candidate < population; ++candidate) {
      const Trajectory& trial = batch[problem * population + candidate];
      EMPLACE_CHECK(trial.index == problem * population + candidate);
      scores[candidate] = static_cast<double>(trial.rho.front());
    }
    const double median = Median(scores);
    for (size_t candidate = 0; candidate < population; ++candidate) {
      losses[candidate] += std::clamp(scores[candidate] - median, -clip, clip) / static_cast<double>(problems);
    }
  }
  return losses;
}

UpdateStats EvolutionUpdater::Update(const std::vector<Trajectory>& batch) {
  EMPLACE_CHECK(std::ssize(batch) == config_.training.episodes_per_update);
  std::vector<double> losses = LossesOf(batch);
  const std::vector<double> before = strategy_->mean();
  const size_t learned = before.size();
  std::vector<double> candidates;
  for (size_t candidate = 0; candidate < losses.size(); ++candidate) {
    const std::vector<float> drawn = CandidateOf(weights_, config_, static_cast<int64_t>(candidate));
    candidates.insert(candidates.end(), drawn.begin(), drawn.begin() + static_cast<ptrdiff_t>(learned));
    losses[candidate] +=
        config_.evolution.penalty * SumOfSquares(std::span(candidates).last(learned)) / static_cast<double>(learned);
  }
  strategy_->Update(candidates, losses);
  average_.Add(strategy_->mean());

  const std::vector<double>& mean = strategy_->mean();
  const std::vector<double> spread = strategy_->Spread();
  const size_t n = Gaussian(weights_).mean.size();
  SetMean(mean, weights_);
  for (size_t row = 0; row < learned; ++row) {
    std::ranges::transform(std::span(spread).subspan(row * learned, learned),
                           weights_.values.begin() + static_cast<ptrdiff_t>(n + row * n), Narrow);
  }
  ++weights_.version;

  UpdateStats stats = {.learning_rate = RootMeanSquare(spread, static_cast<double>(mean.size())),
                       .states = std::ssize(batch)};
  for (const Trajectory& trial : batch) {
    stats.loss += static_cast<double>(trial.rho.front()) / static_cast<double>(batch.size());
  }
  std::vector<double> moved(mean.size());
  std::ranges::transform(mean, before, moved.begin(), std::minus<>());
  stats.gradient_norm = RootMeanSquare(moved, 1);
  double centre = 0;
  for (const double loss : losses) centre += loss / static_cast<double>(losses.size());
  std::vector<double> apart;
  for (const double loss : losses) apart.push_back(loss - centre);
  stats.advantage_std = RootMeanSquare(apart, static_cast<double>(apart.size()));
  return stats;
}

std::optional<PolicyWeights> EvolutionUpdater::Averaged() const {
  if (config_.evolution.average_power == 0) return std::nullopt;
  PolicyWeights average = weights_;
  SetMean(average_.values(), average);
  return average;
}

UpdaterState EvolutionUpdater::SaveState() const {
  UpdaterState state = strategy_->SaveState();
  const auto n = std::ssize(average_.values());
  const int64_t count = average_.count();
  state.objective.tensors.push_back(SafetensorsTensor::Of<double>(kAverage, {n}, average_.values()));
  state.objective.tensors.push_back(SafetensorsTensor::Of<int64_t>(kAverageCount, {1}, std::span(&count, 1)));
  return state;
}

void EvolutionUpdater::LoadState(const UpdaterState& state) {
  const std::string source = "state of evolution";
  std::vector<double> average;
  int64_t count = 0;
  if (state.objective.Find(kAverage) != nullptr) {
    average = state.objective.Get(kAverage, source).Values<double>(source);
    const std::vector<int64_t> counts = state.objective.Get(kAverageCount, source).Values<int64_t>(source);
    if (average.size() != strategy_->mean().size() || counts.size() != 1 || counts.front() < 0 || !AllFinite(average)) {
      throw BadInput(StrCat(source, ": the average has ", average.size(), " numbers, expected ",
                            strategy_->mean().size(), " finite ones, and how many generations it is over"));
    }
    count = counts.front();
  }
  strategy_->LoadState(state);
  // A checkpoint from before there were averages has none: it begins anew.
  if (count == 0) average = strategy_->mean();
  average_.Restore(std::move(average), count);
}

}  // namespace emplace
