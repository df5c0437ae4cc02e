// What tests of losses share: random decisions, and a loss in double precision, row by row, to compare with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "common/rng.h"
#include "learner/update/objective/decision_loss.h"

namespace emplace {

// Decisions between different numbers of choices, some of which are not allowed.
struct RandomDecisions {
  explicit RandomDecisions(uint64_t seed) {
    Rng rng(seed);
    for (int64_t sample = 0; sample < 6; ++sample) {
      const DecisionBlock block{.count = static_cast<int32_t>(rng.UniformInt(1, 3)),
                                .num_choices = static_cast<int32_t>(rng.UniformInt(2, 5))};
      decisions.blocks.push_back(block);
      for (int32_t i = 0; i < block.count; ++i) {
        const int64_t action = rng.UniformInt(0, block.num_choices - 1);
        for (int64_t choice = 0; choice < block.num_choices; ++choice) {
          const bool allowed = choice == action || rng.Uniform() < 0.7;
          decisions.logits.push_back(allowed ? static_cast<float>(rng.Uniform(-3, 3))
                                             : -std::numeric_limits<float>::infinity());
        }
        actions.push_back(static_cast<uint8_t>(action));
        behaviour.push_back(static_cast<float>(rng.Uniform(-3, 0)));
        advantages.push_back(static_cast<float>(rng.Uniform(-2, 2)));
        lags.push_back(rng.Uniform() < 0.5 ? 1.0F : 0.0F);
      }
    }
  }
  DecisionBatch view() const { return {actions, behaviour, advantages, lags}; }

  Decisions decisions;
  std::vector<uint8_t> actions;
  std::vector<float> behaviour;
  std::vector<float> advantages;
  std::vector<float> lags;
};

// What the formula of a loss has for an action, given its importance weight, its advantage and its log-probability.
using NaiveGain = std::function<double(double importance, double advantage, double log_prob)>;

// importance: of each row.
inline double NaiveLoss(const RandomDecisions& batch, const std::vector<double>& logits, double entropy_weight,
                        const NaiveGain& gain, std::vector<double>* importance = nullptr) {
  double loss = 0;
  size_t row = 0;
  size_t begin = 0;
  for (const DecisionBlock& block : batch.decisions.blocks) {
    for (int32_t i = 0; i < block.count; ++i, ++row) {
      const auto choices = static_cast<size_t>(block.num_choices);
      double sum = 0;
      for (size_t c = 0; c < choices; ++c) sum += std::exp(logits[begin + c]);
      double entropy = 0;
      for (size_t c = 0; c < choices; ++c) {
        const double prob = std::exp(logits[begin + c]) / sum;
        if (prob > 0) entropy -= prob * std::log(prob);
      }
      const double chosen = logits[begin + batch.actions[row]] - std::log(sum);
      const double ratio = std::exp(chosen - static_cast<double>(batch.behaviour[row]));
      const double weight = batch.lags[row] == 0.0F ? 1 : ratio;
      if (importance != nullptr) importance->push_back(weight);
      loss -= gain(weight, static_cast<double>(batch.advantages[row]), chosen) + entropy_weight * entropy;
      begin += choices;
    }
  }
  return loss / static_cast<double>(batch.actions.size());
}

// Compares the gradient with differences of `naive`, a function of the logits.
inline void ExpectDerivative(const RandomDecisions& batch, const std::vector<float>& gradient,
                             const std::function<double(const std::vector<double>&)>& naive) {
  std::vector<double> logits(batch.decisions.logits.begin(), batch.decisions.logits.end());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isinf(logits[i])) {
      ASSERT_EQ(gradient[i], 0.0F);
      continue;
    }
    constexpr double kStep = 1e-5;
    const double at = logits[i];
    logits[i] = at + kStep;
    const double above = naive(logits);
    logits[i] = at - kStep;
    const double below = naive(logits);
    logits[i] = at;
    ASSERT_NEAR(static_cast<double>(gradient[i]), (above - below) / (2 * kStep), 1e-6);
  }
}

}  // namespace emplace
