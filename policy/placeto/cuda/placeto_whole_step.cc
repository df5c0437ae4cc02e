#include "policy/placeto/cuda/placeto_whole_step.h"

#include "policy/placeto/cuda/update_cuda.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

class PlacetoWholeStep final : public WholeStep {
 public:
  PlacetoWholeStep(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks)
      : graphs_(MakePlacetoGraphs(tasks)),
        update_(PlacetoShape::Of(initial.shape), PointersTo(graphs_), initial.values) {}

  StepOutcome Step(const WholeStepInputs& inputs, std::span<float> values) override;
  AdamState SaveAdam() const override { return update_.SaveAdam(); }
  void LoadAdam(const AdamState& state) override { update_.LoadAdam(state); }
  const std::string& device() const override { return device_; }

 private:
  const std::string device_ = "cuda:0";
  const std::vector<PlacetoGraph> graphs_;  // [tasks]
  gpu::UpdateCuda update_;
};

StepOutcome PlacetoWholeStep::Step(const WholeStepInputs& inputs, std::span<float> values) {
  std::vector<gpu::EpisodeSource> episodes;
  episodes.reserve(inputs.episodes.size());
  for (const Trajectory& episode : inputs.episodes) {
    episodes.push_back({static_cast<int32_t>(episode.graph), episode.start_placement, episode.actions});
  }
  std::vector<gpu::StateEntry> states;
  states.reserve(inputs.samples.size());
  for (size_t i = 0; i < inputs.samples.size(); ++i) {
    const auto [episode, step] = inputs.samples[i];
    states.push_back({.episode = static_cast<int32_t>(episode),
                      .step = step,
                      .advantage = inputs.advantages[i],
                      .behaviour_log_prob = inputs.episodes[episode].behaviour_log_prob[static_cast<size_t>(step)],
                      .lag = inputs.lags[i]});
  }
  const gpu::UpdateReport report = update_.Update(episodes, states,
                                                  {.learning_rate = inputs.learning_rate,
                                                   .gradient_clip = inputs.gradient_clip,
                                                   .entropy_weight = static_cast<float>(inputs.entropy_weight),
                                                   .importance_clip = static_cast<float>(inputs.importance_clip)},
                                                  values);
  return {.loss = report.loss,
          .entropy = report.entropy,
          .mean_importance = report.mean_importance,
          .gradient_norm = report.gradient_norm};
}

}  // namespace

std::unique_ptr<WholeStep> MakePlacetoWholeStep(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks) {
  return std::make_unique<PlacetoWholeStep>(initial, tasks);
}

}  // namespace emplace
