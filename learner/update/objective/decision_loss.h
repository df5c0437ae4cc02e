// The loss of decisions from logits alone, in parts that can be added: what every objective gives an update engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/player.h"

namespace emplace {

// What a loss has to know of each decision, [S] each.
struct DecisionBatch {
  std::span<const uint8_t> actions;
  std::span<const float> behaviour_log_prob;
  std::span<const float> advantages;
  // 1 where an older version chose the action, else 0. Where it is 0, the importance weight is exactly 1, although the
  // actor's kernel may round differently.
  std::span<const float> lags;
};

// Sums over decisions, so that those of several parts can be added.
struct LossSums {
  double loss = 0;
  double entropy = 0;     // In nats.
  double importance = 0;  // Of the importance weights before clipping.

  LossSums& operator+=(const LossSums& other) {
    loss += other.loss;
    entropy += other.entropy;
    importance += other.importance;
    return *this;
  }
};

enum class LossKind : uint8_t { kReinforce, kPpo };
inline constexpr LossKind kLastLossKind = LossKind::kPpo;

// A loss as plain numbers, from which make_loss.h makes it again: what other ranks are told of it.
struct LossSpec {
  LossKind kind = LossKind::kReinforce;
  double clip = 0;            // importance_clip of kReinforce, clip of kPpo.
  double entropy_weight = 0;  // Weight of the entropy bonus.
  bool operator==(const LossSpec&) const = default;
};

class DecisionLoss {
 public:
  virtual ~DecisionLoss() = default;

  virtual LossSpec spec() const = 0;

  // Adds up the decisions' parts of the loss, and writes its derivative by each logit to `logit_gradient` [logits]; it
  // is 0 where a choice is not allowed. total: S, of which the decisions at hand may be a part. REQUIRES: every action
  // is allowed.
  virtual LossSums Add(const DecisionBatch& batch, const Decisions& decisions, size_t total,
                       std::span<float> logit_gradient) const = 0;
};

}  // namespace emplace
