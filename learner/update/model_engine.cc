#include "learner/update/model_engine.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "learner/update/optimizer.h"
#include "learner/update/shard_sums.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

class ModelEngine final : public UpdateEngine {
 public:
  ModelEngine(std::unique_ptr<Model> model, const PolicyWeights& initial, int64_t shards, Collective* collective)
      : model_(std::move(model)),
        kind_(FindPolicyKind(initial.shape.kind)),
        values_(initial.values),
        adam_(InitialAdamState(initial.values.size())),
        collective_(collective != nullptr ? *collective : alone_),
        sums_(shards, collective_.ranks(), initial.values.size()) {}

  StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) override {
    const ShardRange own = sums_.RangeOf(collective_.rank());
    size_t row = DecisionsBefore(inputs, own.first);
    for (int64_t shard = own.first; shard < own.last; ++shard) sums_.loss(shard) = ComputeShard(inputs, shard, row);
    sums_.AddOwn(collective_.rank());
    collective_.GatherShards(sums_);
    if (collective_.rank() == 0) sums_.AddAll();
    const std::span<float> gradient = sums_.total();
    collective_.Broadcast(gradient);
    const double norm = Norm(gradient);
    ClippedAdamStep(gradient, norm, inputs.gradient_clip, inputs.learning_rate, adam_, values_);
    EMPLACE_CHECK(values.size() == values_.size());
    std::ranges::copy(values_, values.begin());
    const LossSums sums = sums_.TotalLoss();
    const auto decisions = static_cast<double>(inputs.advantages.size());
    return {.loss = sums.loss,
            .entropy = sums.entropy / decisions,
            .mean_importance = sums.importance / decisions,
            .gradient_norm = norm};
  }

  AdamState SaveAdam() const override { return adam_; }
  void LoadAdam(const AdamState& state) override { adam_ = state; }
  const std::string& device() const override { return model_->device(); }

 private:
  // The index of a shard's first sample.
  size_t FirstSample(const UpdateInputs& inputs, int64_t shard) const {
    return inputs.samples.size() * static_cast<size_t>(shard) / static_cast<size_t>(sums_.shards());
  }

  // The number of decisions of all shards before this one.
  size_t DecisionsBefore(const UpdateInputs& inputs, int64_t shard) const {
    size_t decisions = 0;
    for (const Sample& sample : inputs.samples.first(FirstSample(inputs, shard))) {
      decisions += kind_.DecisionsOfSample(inputs.episodes[sample.episode]);
    }
    return decisions;
  }

  // row: the number of decisions of the shards before; leaves that with this one's.
  LossSums ComputeShard(const UpdateInputs& inputs, int64_t shard, size_t& row) {
    const std::span<float> gradient = sums_.row(shard);
    std::ranges::fill(gradient, 0.0F);
    const size_t first = FirstSample(inputs, shard);
    const size_t last = FirstSample(inputs, shard + 1);
    if (first == last) return {};
    const std::span<const Sample> samples = inputs.samples.subspan(first, last - first);
    model_->Forward(values_, inputs.episodes, samples, decisions_);

    // The decisions of these samples among all: a model tells how many a sample has.
    actions_.clear();
    behaviour_.clear();
    for (size_t i = 0; i < samples.size(); ++i) {
      const Trajectory& episode = inputs.episodes[samples[i].episode];
      const auto begin = static_cast<size_t>(samples[i].decision);
      const auto end = begin + static_cast<size_t>(decisions_.blocks[i].count);
      for (size_t t = begin; t < end; ++t) {
        actions_.push_back(episode.actions[t]);
        behaviour_.push_back(episode.behaviour_log_prob[t]);
      }
    }
    logit_gradient_.resize(decisions_.logits.size());
    const DecisionBatch batch{.actions = actions_,
                              .behaviour_log_prob = behaviour_,
                              .advantages = inputs.advantages.subspan(row, actions_.size()),
                              .lags = inputs.lags.subspan(row, actions_.size())};
    row += actions_.size();
    const LossSums sums = inputs.loss.Add(batch, decisions_, inputs.advantages.size(), logit_gradient_);
    model_->Backward(logit_gradient_, gradient);
    return sums;
  }

  const std::unique_ptr<Model> model_;
  const PolicyKind& kind_;
  std::vector<float> values_;  // [P]
  AdamState adam_;
  OneRank alone_;
  Collective& collective_;
  ShardSums sums_;
  Decisions decisions_;  // Scratch of a shard, as is the rest.
  std::vector<uint8_t> actions_;
  std::vector<float> behaviour_;
  std::vector<float> logit_gradient_;
};

}  // namespace

std::unique_ptr<UpdateEngine> MakeModelEngine(std::unique_ptr<Model> model, const PolicyWeights& initial,
                                              int64_t shards, Collective* collective) {
  return std::make_unique<ModelEngine>(std::move(model), initial, shards, collective);
}

}  // namespace emplace
