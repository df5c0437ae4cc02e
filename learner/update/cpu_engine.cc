#include "learner/update/cpu_engine.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/placeto/reference/fused_policy.h"

namespace emplace {
namespace {

class CpuEngine final : public UpdateEngine {
 public:
  CpuEngine(const std::vector<PlacementTask>& tasks, const PolicyWeights& initial)
      : graphs_(MakePlacetoGraphs(tasks)),
        kernel_(PlacetoShape::Of(initial.shape)),
        values_(torch::tensor(initial.values, torch::kFloat32).requires_grad_(true)),
        adam_(InitialAdamState(initial.values.size())) {}

  StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) override;
  AdamState SaveAdam() const override { return adam_; }
  void LoadAdam(const AdamState& state) override { adam_ = state; }
  const std::string& device() const override { return device_; }

 private:
  // The states of the samples; their placements go to placements_.
  std::vector<PlacetoState> States(const UpdateInputs& inputs);

  const std::vector<PlacetoGraph> graphs_;  // [tasks]
  const std::string device_ = "cpu";
  PlacetoGradient kernel_;
  torch::Tensor values_;  // [P]
  AdamState adam_;
  std::vector<uint8_t> placements_;
};

std::vector<PlacetoState> CpuEngine::States(const UpdateInputs& inputs) {
  size_t total = 0;
  for (const Sample& sample : inputs.samples) total += inputs.episodes[sample.episode].actions.size();
  placements_.resize(total);
  std::vector<PlacetoState> states;
  states.reserve(inputs.samples.size());
  std::span<uint8_t> rest = placements_;
  for (const Sample& sample : inputs.samples) {
    const Trajectory& episode = inputs.episodes[sample.episode];
    const std::span<uint8_t> placement = rest.first(episode.actions.size());
    rest = rest.subspan(placement.size());
    PlacementAfter(episode, static_cast<size_t>(sample.step), placement);
    states.push_back({&graphs_[episode.graph], placement.data(), sample.step});
  }
  return states;
}

StepOutcome CpuEngine::Step(const UpdateInputs& inputs, std::span<float> values) {
  const auto count = std::ssize(inputs.samples);
  const torch::Tensor actions = torch::empty({count, 1}, torch::kInt64);
  const torch::Tensor behaviour = torch::empty({count});
  for (int64_t i = 0; i < count; ++i) {
    const Sample& sample = inputs.samples[static_cast<size_t>(i)];
    const Trajectory& episode = inputs.episodes[sample.episode];
    actions.data_ptr<int64_t>()[i] = episode.actions[static_cast<size_t>(sample.step)];
    behaviour.data_ptr<float>()[i] = episode.behaviour_log_prob[static_cast<size_t>(sample.step)];
  }
  const torch::Tensor advantages =
      torch::tensor(std::vector<float>(inputs.advantages.begin(), inputs.advantages.end()));
  const torch::Tensor lags = torch::tensor(std::vector<float>(inputs.lags.begin(), inputs.lags.end()));

  const torch::Tensor log_probs = torch::log_softmax(FusedLogits(values_, kernel_, States(inputs)), 1);
  const torch::Tensor chosen = log_probs.gather(1, actions).squeeze(1);  // [S]
  const torch::Tensor ratio = ((chosen.detach() - behaviour) * lags).exp();
  // A device that is not allowed has probability 0 and log-probability -infinity: it adds nothing to the entropy.
  const torch::Tensor finite = log_probs.masked_fill(log_probs.isinf(), 0.0);
  const torch::Tensor entropy = -(log_probs.exp() * finite).sum(1);
  const torch::Tensor loss =
      -((ratio.clamp_max(inputs.importance_clip) * advantages * chosen).sum() + inputs.entropy_weight * entropy.sum()) /
      static_cast<double>(count);
  values_.mutable_grad() = torch::Tensor();
  loss.backward();

  const torch::Tensor gradient = values_.grad();
  const std::span<const float> flat(gradient.data_ptr<float>(), static_cast<size_t>(gradient.numel()));
  double norm_squared = 0;
  for (const float g : flat) norm_squared += static_cast<double>(g) * static_cast<double>(g);
  const StepOutcome outcome{.loss = loss.item<double>(),
                            .entropy = entropy.mean().item<double>(),
                            .mean_importance = ratio.mean().item<double>(),
                            .gradient_norm = std::sqrt(norm_squared)};
  const std::span<float> own(values_.data_ptr<float>(), flat.size());
  if (std::isfinite(outcome.gradient_norm)) {
    AdamStep(flat, std::min(1.0, inputs.gradient_clip / std::max(outcome.gradient_norm, 1e-12)), inputs.learning_rate,
             adam_, own);
  }
  EMPLACE_CHECK(values.size() == own.size());
  std::ranges::copy(own, values.begin());
  return outcome;
}

}  // namespace

std::unique_ptr<UpdateEngine> MakeCpuEngine(const std::vector<PlacementTask>& tasks, const PolicyWeights& initial) {
  return std::make_unique<CpuEngine>(tasks, initial);
}

}  // namespace emplace
