#include "learner/update/model_engine.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/error.h"
#include "learner/update/optimizer.h"

namespace emplace {
namespace {

class ModelEngine final : public UpdateEngine {
 public:
  ModelEngine(std::unique_ptr<Model> model, const PolicyWeights& initial, int64_t shards)
      : model_(std::move(model)),
        values_(initial.values),
        adam_(InitialAdamState(initial.values.size())),
        gradients_(static_cast<size_t>(shards), std::vector<float>(initial.values.size())) {}

  StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) override {
    const size_t total = inputs.advantages.size();
    LossSums sums;
    size_t row = 0;
    for (size_t shard = 0; shard < gradients_.size(); ++shard) sums += ComputeShard(inputs, shard, row);
    AddPairwise();
    const double norm = Norm(gradients_.front());
    ClippedAdamStep(gradients_.front(), norm, inputs.gradient_clip, inputs.learning_rate, adam_, values_);
    EMPLACE_CHECK(values.size() == values_.size());
    std::ranges::copy(values_, values.begin());
    const auto decisions = static_cast<double>(total);
    return {.loss = sums.loss,
            .entropy = sums.entropy / decisions,
            .mean_importance = sums.importance / decisions,
            .gradient_norm = norm};
  }

  AdamState SaveAdam() const override { return adam_; }
  void LoadAdam(const AdamState& state) override { adam_ = state; }
  const std::string& device() const override { return model_->device(); }

 private:
  // row: the number of decisions of the shards before; leaves that with this one's.
  LossSums ComputeShard(const UpdateInputs& inputs, size_t shard, size_t& row) {
    std::vector<float>& gradient = gradients_[shard];
    std::ranges::fill(gradient, 0.0F);
    const size_t count = inputs.samples.size();
    const size_t first = count * shard / gradients_.size();
    const size_t last = count * (shard + 1) / gradients_.size();
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

  // Leaves the sum in the first.
  void AddPairwise() {
    for (size_t apart = 1; apart < gradients_.size(); apart *= 2) {
      for (size_t i = 0; i + apart < gradients_.size(); i += 2 * apart) {
        std::ranges::transform(gradients_[i], gradients_[i + apart], gradients_[i].begin(), std::plus<>());
      }
    }
  }

  const std::unique_ptr<Model> model_;
  std::vector<float> values_;  // [P]
  AdamState adam_;
  std::vector<std::vector<float>> gradients_;  // [shards][P]
  Decisions decisions_;                        // Scratch of a shard, as is the rest.
  std::vector<uint8_t> actions_;
  std::vector<float> behaviour_;
  std::vector<float> logit_gradient_;
};

}  // namespace

std::unique_ptr<UpdateEngine> MakeModelEngine(std::unique_ptr<Model> model, const PolicyWeights& initial,
                                              int64_t shards) {
  EMPLACE_CHECK(shards > 0);
  return std::make_unique<ModelEngine>(std::move(model), initial, shards);
}

}  // namespace emplace
