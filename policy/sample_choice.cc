#include "policy/sample_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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
  const auto largest = static_cast<double>(*LargestLogit(logits));
  std::array<double, kMaxChoices> weights;  // Of the choices there are; the rest is not set.
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp(static_cast<double>(logits[i]) - largest);  // -infinity becomes weight 0.
    sum += weights[i];
  }
  const size_t index = rng.Categorical(std::span(weights).first(logits.size()));
  return {index, static_cast<double>(logits[index]) - largest - std::log(sum)};
}

size_t GreedyChoice(std::span<const float> logits) { return static_cast<size_t>(LargestLogit(logits) - logits.data()); }

}  // namespace emplace
