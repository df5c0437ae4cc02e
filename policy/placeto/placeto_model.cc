#include "policy/placeto/placeto_model.h"

#include <limits>
#include <memory>

#include "policy/placeto/gradient/placeto_gradient.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/placeto/start_times.h"

namespace emplace {
namespace {

class PlacetoModel final : public Model {
 public:
  PlacetoModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks)
      : shape_(PlacetoShape::Of(shape)), graphs_(MakePlacetoGraphs(tasks)), kernel_(shape_) {
    if (!shape_.start_times) return;
    for (const PlacementTask& task : tasks) start_times_.push_back(std::make_unique<StartTimes>(task));
  }

  const std::string& device() const override { return device_; }

  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    SetStates(episodes, samples);
    const auto devices = static_cast<size_t>(shape_.num_devices);
    decisions.blocks.assign(samples.size(), {.count = 1, .num_choices = shape_.num_devices});
    decisions.logits.resize(samples.size() * devices);
    kernel_.SetWeights(values);
    kernel_.Forward(states_, decisions.logits);
    for (size_t i = 0; i < samples.size(); ++i) {
      const PlacetoState& state = states_[i];
      const uint8_t* const allowed = state.graph->allowed.data() + static_cast<size_t>(state.step) * devices;
      for (size_t device = 0; device < devices; ++device) {
        if (allowed[device] == 0) decisions.logits[i * devices + device] = -std::numeric_limits<float>::infinity();
      }
    }
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    kernel_.Backward(states_, logit_gradient, gradient);
  }

 private:
  // The states of the samples; their placements go to placements_, and their start times to times_.
  void SetStates(std::span<const Trajectory> episodes, std::span<const Sample> samples) {
    size_t total = 0;
    for (const Sample& sample : samples) total += episodes[sample.episode].actions.size();
    placements_.resize(total);
    times_.resize(shape_.start_times ? total : 0);
    states_.clear();
    std::span<uint8_t> rest = placements_;
    std::span<float> rest_of_times = times_;
    for (const Sample& sample : samples) {
      const Trajectory& episode = episodes[sample.episode];
      const std::span<uint8_t> placement = rest.first(episode.actions.size());
      rest = rest.subspan(placement.size());
      PlacementAfter(episode, static_cast<size_t>(sample.decision), placement);
      states_.push_back({&graphs_[episode.graph], placement.data(), sample.decision});
      if (!shape_.start_times) continue;
      const std::span<float> times = rest_of_times.first(placement.size());
      rest_of_times = rest_of_times.subspan(times.size());
      start_times_[episode.graph]->Of(placement, times);
      states_.back().start_times = times.data();
    }
  }

  const std::string device_ = "cpu";
  const PlacetoShape shape_;
  const std::vector<PlacetoGraph> graphs_;                // [tasks]
  std::vector<std::unique_ptr<StartTimes>> start_times_;  // [tasks]; none where they are no feature
  PlacetoGradient kernel_;
  std::vector<uint8_t> placements_;
  std::vector<float> times_;
  std::vector<PlacetoState> states_;  // Those of the last Forward.
};

}  // namespace

std::unique_ptr<Model> MakePlacetoModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return std::make_unique<PlacetoModel>(shape, tasks);
}

}  // namespace emplace
