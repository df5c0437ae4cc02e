#include "learner/update/evolution/evolution_updater.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "policy/gaussian.h"
#include "policy/policy_kinds.h"
#include "policy/trials/trial_runner.h"

namespace emplace {
namespace {

// The names of CMA-ES's numbers in checkpoints.
constexpr char kMean[] = "cma.mean";
constexpr char kStepSize[] = "cma.step_size";
constexpr char kCovariance[] = "cma.covariance";
constexpr char kStepPath[] = "cma.step_path";
constexpr char kCovariancePath[] = "cma.covariance_path";
constexpr char kGenerations[] = "cma.generations";

std::vector<double> Doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

Cma CmaOf(const PolicyWeights& weights, size_t learned) {
  const Gaussian policy(weights.values);
  const size_t n = policy.mean.size();
  std::vector<double> spread;
  for (size_t row = 0; row < learned; ++row) {
    const std::vector<double> block = Doubles(policy.spread.subspan(row * n, learned));
    spread.insert(spread.end(), block.begin(), block.end());
  }
  return Cma(Doubles(policy.mean.first(learned)), spread);
}

size_t LearnedOf(const RunConfig& config) {
  const PolicyKind& kind = FindPolicyKind(config.policy.kind);
  return static_cast<size_t>(kind.Parameters(kind.Shape(config.policy, 0)).front().shape.front());
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double RootMeanSquare(std::span<const double> values, double count) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / count);
}

}  // namespace

EvolutionUpdater::EvolutionUpdater(const RunConfig& config, PolicyWeights initial)
    : config_(config), weights_(std::move(initial)), cma_(CmaOf(weights_, LearnedOf(config))) {}

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
  const std::vector<double> losses = LossesOf(batch);
  const std::vector<double> before = cma_.state().mean;
  const size_t learned = before.size();
  std::vector<double> candidates;
  for (size_t candidate = 0; candidate < losses.size(); ++candidate) {
    const std::vector<float> drawn = CandidateOf(weights_, config_.seed, static_cast<int64_t>(candidate));
    candidates.insert(candidates.end(), drawn.begin(), drawn.begin() + static_cast<ptrdiff_t>(learned));
  }
  cma_.Update(candidates, losses);

  const std::vector<double>& mean = cma_.state().mean;
  const std::vector<double> spread = cma_.Spread();
  const auto narrow = [](double value) { return static_cast<float>(value); };
  const size_t n = Gaussian(weights_.values).mean.size();
  std::ranges::transform(mean, weights_.values.begin(), narrow);
  for (size_t row = 0; row < learned; ++row) {
    std::ranges::transform(std::span(spread).subspan(row * learned, learned),
                           weights_.values.begin() + static_cast<ptrdiff_t>(n + row * n), narrow);
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

UpdaterState EvolutionUpdater::SaveState() const {
  const CmaState& state = cma_.state();
  UpdaterState saved;
  const auto add = [&](const char* name, std::vector<int64_t> shape, std::span<const double> values) {
    saved.objective.tensors.push_back(SafetensorsTensor::Of<double>(name, std::move(shape), values));
  };
  const int64_t n = std::ssize(state.mean);
  add(kMean, {n}, state.mean);
  add(kStepSize, {1}, std::span(&state.step_size, 1));
  add(kCovariance, {n, n}, state.covariance);
  add(kStepPath, {n}, state.step_path);
  add(kCovariancePath, {n}, state.covariance_path);
  saved.objective.tensors.push_back(
      SafetensorsTensor::Of<int64_t>(kGenerations, {1}, std::span(&state.generations, 1)));
  return saved;
}

void EvolutionUpdater::LoadState(const UpdaterState& state) {
  const std::string source = "state of the evolution";
  const auto doubles = [&](const char* name) { return state.objective.Get(name, source).Values<double>(source); };
  const std::vector<double> step_size = doubles(kStepSize);
  const std::vector<int64_t> generations = state.objective.Get(kGenerations, source).Values<int64_t>(source);
  if (step_size.size() != 1 || generations.size() != 1) throw BadInput(source + ": expected one step size");
  cma_.Load({.mean = doubles(kMean),
             .step_size = step_size.front(),
             .covariance = doubles(kCovariance),
             .step_path = doubles(kStepPath),
             .covariance_path = doubles(kCovariancePath),
             .generations = generations.front()});
}

}  // namespace emplace
