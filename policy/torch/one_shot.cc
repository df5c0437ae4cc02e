#include "policy/torch/one_shot.h"

#include <algorithm>
#include <string>
#include <utility>

#include "policy/torch/graph_logits.h"
#include "policy/torch/group_player.h"

namespace emplace {
namespace {

using OneShotView = GroupView<std::vector<float>>;  // Logits [n * devices].

class OneShotEpisode final : public GroupEpisode<std::vector<float>> {
 public:
  using GroupEpisode::GroupEpisode;

  bool done() const override { return done_; }

  void Decide(std::span<const uint8_t> devices) {
    std::ranges::copy(devices, placement_.begin());
    done_ = true;
  }

 private:
  bool done_ = false;
};

class OneShotPlayer final : public GroupPlayer<std::vector<float>, OneShotEpisode> {
 public:
  OneShotPlayer(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network)
      : GroupPlayer(shape, network->Parameters()), network_(std::move(network)) {}

  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    decisions.blocks.clear();
    decisions.logits.clear();
    for (const PlayedEpisode* const episode : episodes) {
      const OneShotView& view = static_cast<const OneShotEpisode*>(episode)->view();
      const std::vector<float>& logits = Of(view, [&] {
        const torch::NoGradGuard no_grad;
        std::vector<float> values;
        AppendLogits(network_->Logits(parameters(), view.graph), view.groups.allowed, values);
        return values;
      });
      decisions.blocks.push_back({.count = view.groups.num_groups, .num_choices = shape().num_devices});
      decisions.logits.insert(decisions.logits.end(), logits.begin(), logits.end());
    }
  }

  void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) override {
    for (PlayedEpisode* const episode : episodes) {
      auto* const own = static_cast<OneShotEpisode*>(episode);
      const auto n = static_cast<size_t>(own->view().groups.num_groups);
      own->Decide(choices.first(n));
      choices = choices.subspan(n);
    }
  }

 private:
  const std::unique_ptr<OneShotNetwork> network_;
};

class OneShotModel final : public Model {
 public:
  OneShotModel(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network,
               const std::vector<PlacementTask>& tasks, c10::Device device)
      : device_(device.str()),
        tasks_(tasks),
        graphs_(tasks, device),
        network_(std::move(network)),
        parameters_(network_->Parameters(), device),
        num_devices_(shape.num_devices) {}

  const std::string& device() const override { return device_; }

  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    parameters_.Set(values, /*with_gradient=*/true);
    computed_.Clear();
    graph_of_sample_.clear();
    decisions.blocks.clear();
    decisions.logits.clear();
    std::vector<float> logits;
    for (const Sample& sample : samples) {
      const GraphId graph = episodes[sample.episode].graph;
      // Samples of one graph are neighbours.
      if (graph_of_sample_.empty() || graph_of_sample_.back() != graph) {
        logits.clear();
        AppendLogits(computed_.Of(graph, [&] { return network_->Logits(parameters_, graphs_.Of(graph)); }),
                     tasks_[graph].groups.allowed, logits);
      }
      graph_of_sample_.push_back(graph);
      decisions.blocks.push_back({.count = tasks_[graph].groups.num_groups, .num_choices = num_devices_});
      decisions.logits.insert(decisions.logits.end(), logits.begin(), logits.end());
    }
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    for (const GraphId graph : graph_of_sample_) logit_gradient = computed_.AddSlopes(graph, logit_gradient);
    computed_.AddGradient(parameters_, gradient);
  }

 private:
  const std::string device_;
  const std::vector<PlacementTask>& tasks_;
  TensorsOfTasks graphs_;
  const std::unique_ptr<OneShotNetwork> network_;
  TorchParameters parameters_;
  const int32_t num_devices_;
  GraphLogits computed_;                  // The logits [n, devices] of the last Forward.
  std::vector<GraphId> graph_of_sample_;  // Of the last Forward.
};

}  // namespace

std::unique_ptr<Player> MakeOneShotPlayer(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network) {
  return std::make_unique<OneShotPlayer>(shape, std::move(network));
}

std::unique_ptr<Model> MakeOneShotModel(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network,
                                        const std::vector<PlacementTask>& tasks, c10::Device device) {
  return std::make_unique<OneShotModel>(shape, std::move(network), tasks, device);
}

}  // namespace emplace
