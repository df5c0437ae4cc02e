#include "simulator/methods/lists/units/unit_scorer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace emplace {
namespace {

// A struct of doubles alone lies in memory as an array of them does.
std::span<const double, kNumUnitFeatures> NumbersOf(const UnitFeatures& features) {
  return std::span<const double, kNumUnitFeatures>(&features.finish_behind, kNumUnitFeatures);
}

double WeightedSum(const UnitFeatures& weights, const UnitFeatures& features) {
  const auto w = NumbersOf(weights);
  const auto f = NumbersOf(features);
  constexpr size_t kSums = 5;  // Sums that do not wait for each other take less time than one.
  static_assert(kNumUnitFeatures % kSums == 0);
  std::array<double, kSums> sums = {};
  for (size_t i = 0; i < kNumUnitFeatures; i += kSums) {
    for (size_t j = 0; j < kSums; ++j) sums[j] += w[i + j] * f[i + j];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

bool UnitScorerOptions::TakesFirstFinish() const {
  UnitFeatures others = weights;
  others.finish_behind = 0;
  return temperature == 0 && weights.finish_behind < 0 && others == UnitFeatures();
}

size_t UnitScorer::Choose(OpIndex unit, std::span<const UnitFit> fits, std::span<const OpIndex> parameters,
                          const UnitPlacement& units) {
  if (fits.size() == 1) return 0;
  scores_.clear();
  for (const UnitFeatures& features : features_.Of(unit, fits, parameters, units))
    scores_.push_back(WeightedSum(options_.weights, features));
  size_t best = 0;
  for (size_t i = 1; i < fits.size(); ++i) {
    if (scores_[i] > scores_[best] || (scores_[i] == scores_[best] && EndsBefore(fits[i], fits[best]))) best = i;
  }
  if (options_.temperature == 0) return best;
  const double greatest = scores_[best];
  for (double& score : scores_) score = std::exp((score - greatest) / options_.temperature);
  return rng_.Categorical(scores_);
}

}  // namespace emplace
