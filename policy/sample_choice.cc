#include "policy/sample_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// The largest logit, which the softmax is shifted by, so that no power overflows.
const float* LargestLogit(std::span<const float> logits) {
  bool some_finite = false;
  for (const float logit : logits) {
    some_finite = some_finite || std::isfinite(logit);
    if (std::isnan(logit) || logit == std::numeric_limits<float>::infinity()) {
      throw BadInput(
          StrCat("the policy gives ", logit, " as a logit, expected a finite number; its weights are too large"));
    }
  }
  if (!some_finite) {
    throw BadInput("the policy gives no finite logit, expected at least one; its weights are too large");
  }
  return &*std::max_element(logits.begin(), logits.end());
}

}  // namespace

Choice SampleChoice(std::span<const float> logits, Rng& rng) {
  EMPLACE_CHECK(!logits.empty() && logits.size() <= kMaxChoices);
  std::array<double, kMaxChoices> of_choices;  // Of the choices there are; the rest is not set.
  const std::span<double> weights = std::span(of_choices).first(logits.size());
  const double largest = RelativeProbabilities(logits, weights);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const size_t index = rng.Categorical(weights);
  return {index, static_cast<double>(logits[index]) - largest - std::log(sum)};
}

size_t GreedyChoice(std::span<const float> logits) { return static_cast<size_t>(LargestLogit(logits) - logits.data()); }

double RelativeProbabilities(std::span<const float> logits, std::span<double> relative) {
  const auto largest = static_cast<double>(*LargestLogit(logits));
  for (size_t i = 0; i < logits.size(); ++i) {
    relative[i] = std::exp(static_cast<double>(logits[i]) - largest);  // -infinity becomes 0.
  }
  return largest;
}

}  // namespace emplace
