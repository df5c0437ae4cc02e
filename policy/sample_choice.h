// Choosing by logits: the one way in which a policy's decisions are drawn.
#pragma once

#include <cstddef>
#include <span>

#include "common/rng.h"

namespace emplace {

struct Choice {
  size_t index = 0;
  double log_prob = 0;  // Its natural logarithm of the probability, under the softmax of the logits.
};

// At most so many choices: messages carry a choice as one byte.
inline constexpr size_t kMaxChoices = 256;

// Draws from the softmax of the logits, of which -infinity means not allowed. Throws BadInput unless some logits are
// finite and all others -infinity: very large weights, though finite, overflow on the way to a logit.
// REQUIRES: 1 to kMaxChoices logits.
Choice SampleChoice(std::span<const float> logits, Rng& rng);
// The index of the largest logit, the first of equals. Throws as above.
size_t GreedyChoice(std::span<const float> logits);
// Writes the probability of each choice over that of the most likely one: 0 to 1. Returns the largest logit. Throws as
// above. REQUIRES: as many entries as logits.
double RelativeProbabilities(std::span<const float> logits, std::span<double> relative);

}  // namespace emplace
