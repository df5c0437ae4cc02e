#include "learner/update/evolution/openai_es.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// The names of these numbers in checkpoints, beside those of Adam.
constexpr char kMeanName[] = "openai_es.mean";
constexpr char kSpreadName[] = "openai_es.spread";

}  // namespace

std::vector<double> CenteredRanks(std::span<const double> losses) {
  EMPLACE_CHECK(losses.size() >= 2);
  std::vector<size_t> order(losses.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return losses[i]; });
  const auto last = static_cast<double>(losses.size() - 1);
  std::vector<double> ranks(losses.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first + 1;
    while (end < order.size() && losses[order[end]] == losses[order[first]]) ++end;
    const double rank = static_cast<double>(first + end - 1) / (2 * last) - 0.5;
    for (size_t i = first; i < end; ++i) ranks[order[i]] = rank;
    first = end;
  }
  return ranks;
}

OpenAiEs::OpenAiEs(std::span<const double> mean, std::span<const double> spread, const OpenAiEsOptions& options)
    : options_(options),
      mean_(mean.begin(), mean.end()),
      spread_(spread.begin(), spread.end()),
      adam_(InitialAdamState(mean.size())) {
  EMPLACE_CHECK(!mean.empty() && spread.size() == mean.size() * mean.size());
}

std::vector<double> OpenAiEs::Deviations() const {
  const size_t n = mean_.size();
  std::vector<double> deviations;
  for (size_t i = 0; i < n; ++i) {
    const auto row = spread_.begin() + static_cast<std::ptrdiff_t>(i * n);
    deviations.push_back(std::sqrt(std::inner_product(row, row + static_cast<std::ptrdiff_t>(n), row, 0.0)));
  }
  return deviations;
}

std::vector<double> OpenAiEs::Gradient(std::span<const double> candidates, std::span<const double> losses) const {
  const size_t n = mean_.size();
  EMPLACE_CHECK(losses.size() >= 2 && candidates.size() == losses.size() * n);
  const std::vector<double> ranks = CenteredRanks(losses);
  const std::vector<double> deviations = Deviations();
  std::vector<double> gradient(n, 0.0);
  for (size_t candidate = 0; candidate < losses.size(); ++candidate) {
    for (size_t i = 0; i < n; ++i) gradient[i] += ranks[candidate] * (candidates[candidate * n + i] - mean_[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    gradient[i] *= deviations[i] > 0 ? 1 / (deviations[i] * static_cast<double>(losses.size())) : 0;
  }
  return gradient;
}

void OpenAiEs::Update(std::span<const double> candidates, std::span<const double> losses) {
  const std::vector<double> gradient = Gradient(candidates, losses);
  const std::vector<double> deviations = Deviations();
  std::vector<float> narrow(gradient.size());
  std::ranges::transform(gradient, narrow.begin(), [](double value) { return static_cast<float>(value); });
  std::vector<float> step(gradient.size(), 0.0F);  // In deviations.
  AdamStep(narrow, 1, options_.learning_rate, adam_, step);
  for (size_t i = 0; i < mean_.size(); ++i) mean_[i] += deviations[i] * static_cast<double>(step[i]);
  for (double& value : spread_) value *= options_.spread_decay;
}

UpdaterState OpenAiEs::SaveState() const {
  UpdaterState saved = {.adam = adam_, .objective = {}};
  const int64_t n = std::ssize(mean_);
  saved.objective.tensors.push_back(SafetensorsTensor::Of<double>(kMeanName, {n}, mean_));
  saved.objective.tensors.push_back(SafetensorsTensor::Of<double>(kSpreadName, {n, n}, spread_));
  return saved;
}

void OpenAiEs::LoadState(const UpdaterState& state) {
  const std::string source = "state of OpenAI-ES";
  const size_t n = mean_.size();
  std::vector<double> mean = state.objective.Get(kMeanName, source).Values<double>(source);
  std::vector<double> spread = state.objective.Get(kSpreadName, source).Values<double>(source);
  const AdamState& adam = state.adam;
  if (mean.size() != n || spread.size() != n * n || adam.mean.size() != n || adam.variance.size() != n) {
    throw BadInput(StrCat(source, " of ", mean.size(), " parameters, expected ", n));
  }
  const bool has_roots = std::ranges::all_of(adam.variance, [](float value) { return value >= 0; });
  if (!AllFinite(mean) || !AllFinite(spread) || !AllFinite(adam.mean) || !AllFinite(adam.variance) || !has_roots ||
      adam.steps < 0) {
    throw BadInput(source + ": a number is not finite, or a variance is below 0");
  }
  mean_ = std::move(mean);
  spread_ = std::move(spread);
  adam_ = adam;
}

}  // namespace emplace
