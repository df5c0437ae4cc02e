#include "policy/balanced_choice.h"

#include "common/error.h"
#include "policy/sample_choice.h"

namespace emplace {
namespace {

// A device counts as about as likely as the best with this share of its probability.
constexpr double kLeastShare = 0.25;

}  // namespace

size_t BalancedChoice::Next(std::span<const float> logits, double work) {
  EMPLACE_CHECK(logits.size() == owed_.size());
  RelativeProbabilities(logits, probability_);
  double sum = 0;
  for (const double probability : probability_) sum += probability < kLeastShare ? 0 : probability;
  size_t chosen = logits.size();
  for (size_t d = 0; d < logits.size(); ++d) {
    if (probability_[d] < kLeastShare) continue;
    owed_[d] += work * probability_[d] / sum;
    if (chosen == logits.size() || owed_[d] > owed_[chosen]) chosen = d;
  }
  owed_[chosen] -= work;
  return chosen;
}

}  // namespace emplace
