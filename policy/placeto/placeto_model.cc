#include "policy/placeto/placeto_model.h"

#include <limits>

#include "policy/placeto/gradient/placeto_gradient.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

class PlacetoModel final : public Model {
 public:
  PlacetoModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks)
      : shape_(PlacetoShape::Of(shape)), graphs_(MakePlacetoGraphs(tasks, shape_)), kernel_(shape_) {}

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
  // The states of the samples; their placements go to placements_.
  void SetStates(std::span<const Trajectory> episodes, std::span<const Sample> samples) {
    size_t total = 0;
    for (const Sample& sample : samples) total += episodes[sample.episode].actions.size();
    placements_.resize(total);
    states_.clear();
    std::span<uint8_t> rest = placements_;
    for (const Sample& sample : samples) {
      const Trajectory& episode = episodes[sample.episode];
      const std::span<uint8_t> placement = rest.first(episode.actions.size());
      rest = rest.subspan(placement.size());
      PlacementAfter(episode, shape_.earlier_decisions ? static_cast<size_t>(sample.decision) : 0, placement);
      states_.push_back({&graphs_[episode.graph], placement.data(), sample.decision});
    }
  }

  const std::string device_ = "cpu";
  const PlacetoShape shape_;
  const std::vector<PlacetoGraph> graphs_;  // [tasks]
  PlacetoGradient kernel_;
  std::vector<uint8_t> placements_;
  std::vector<PlacetoState> states_;  // Those of the last Forward.
};

}  // namespace

std::unique_ptr<Model> MakePlacetoModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return std::make_unique<PlacetoModel>(shape, tasks);
}

}  // namespace emplace
