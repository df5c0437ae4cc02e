#include "policy/torch/one_shot.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "common/error.h"
#include "policy/torch/group_view.h"

namespace emplace {
namespace {

using OneShotView = GroupView<std::vector<float>>;  // Logits [n * devices].

class OneShotEpisode final : public PlayedEpisode {
 public:
  OneShotEpisode(const OneShotView& view, std::span<const uint8_t> start)
      : view_(view), placement_(start.begin(), start.end()) {
    placement_.resize(static_cast<size_t>(view.groups.num_groups));
  }

  bool done() const override { return done_; }
  std::span<const uint8_t> placement() const override { return placement_; }
  const OneShotView& view() const { return view_; }

  void Decide(std::span<const uint8_t> devices) {
    std::ranges::copy(devices, placement_.begin());
    done_ = true;
  }

 private:
  const OneShotView& view_;
  std::vector<uint8_t> placement_;
  bool done_ = false;
};

class OneShotPlayer final : public Player {
 public:
  OneShotPlayer(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network)
      : shape_(shape), network_(std::move(network)), parameters_(network_->Parameters()) {}

  const PolicyShape& shape() const override { return shape_; }

  void SetWeights(const PolicyWeights& weights) override {
    parameters_.Set(weights.values, /*with_gradient=*/false);
    ++weights_;
  }

  std::unique_ptr<TaskView> View(const PlacementTask& task) const override {
    EMPLACE_CHECK(task.groups.num_devices == shape_.num_devices);
    return std::make_unique<OneShotView>(task.groups);
  }

  std::unique_ptr<PlayedEpisode> Begin(const TaskView& view, std::span<const uint8_t> start) override {
    return std::make_unique<OneShotEpisode>(static_cast<const OneShotView&>(view), start);
  }

  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    decisions.blocks.clear();
    decisions.logits.clear();
    for (const PlayedEpisode* const episode : episodes) {
      const OneShotView& view = static_cast<const OneShotEpisode*>(episode)->view();
      const std::vector<float>& logits = view.Get(weights_, [&] {
        const torch::NoGradGuard no_grad;
        std::vector<float> values;
        AppendLogits(network_->Logits(parameters_, view.graph), view.groups.allowed, values);
        return values;
      });
      decisions.blocks.push_back({.count = view.groups.num_groups, .num_choices = shape_.num_devices});
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
  const PolicyShape shape_;
  const std::unique_ptr<OneShotNetwork> network_;
  TorchParameters parameters_;
  uint64_t weights_ = 0;  // How often weights have been set.
};

class OneShotModel final : public Model {
 public:
  OneShotModel(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network,
               const std::vector<PlacementTask>& tasks)
      : tasks_(tasks),
        graphs_(tasks),
        network_(std::move(network)),
        parameters_(network_->Parameters()),
        num_devices_(shape.num_devices) {}

  const std::string& device() const override { return device_; }

  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    parameters_.Set(values, /*with_gradient=*/true);
    computed_.clear();
    graph_of_sample_.clear();
    decisions.blocks.clear();
    decisions.logits.clear();
    std::vector<float> logits;
    for (const Sample& sample : samples) {
      const GraphId graph = episodes[sample.episode].graph;
      if (!computed_.contains(graph)) computed_[graph] = network_->Logits(parameters_, graphs_.Of(graph));
      // Samples of one graph are neighbours.
      if (graph_of_sample_.empty() || graph_of_sample_.back() != graph) {
        logits.clear();
        AppendLogits(computed_[graph], tasks_[graph].groups.allowed, logits);
      }
      graph_of_sample_.push_back(graph);
      decisions.blocks.push_back({.count = tasks_[graph].groups.num_groups, .num_choices = num_devices_});
      decisions.logits.insert(decisions.logits.end(), logits.begin(), logits.end());
    }
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    std::map<GraphId, torch::Tensor> sums;
    for (const GraphId graph : graph_of_sample_) {
      torch::Tensor& sum = sums[graph];
      if (!sum.defined()) sum = torch::zeros_like(computed_[graph]);
      float* const values = sum.data_ptr<float>();
      const auto count = static_cast<size_t>(sum.numel());
      for (size_t i = 0; i < count; ++i) values[i] += logit_gradient[i];
      logit_gradient = logit_gradient.subspan(count);
    }
    // One graph after the other: what one has recorded is freed before the next.
    for (const auto& [graph, sum] : sums) {
      parameters_.AddGradient({computed_[graph]}, {sum}, gradient);
      computed_.erase(graph);
    }
  }

 private:
  const std::string device_ = "cpu";
  const std::vector<PlacementTask>& tasks_;
  TensorsOfTasks graphs_;
  const std::unique_ptr<OneShotNetwork> network_;
  TorchParameters parameters_;
  const int32_t num_devices_;
  std::map<GraphId, torch::Tensor> computed_;  // The logits [n, devices] of the last Forward.
  std::vector<GraphId> graph_of_sample_;       // Of the last Forward.
};

}  // namespace

std::unique_ptr<Player> MakeOneShotPlayer(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network) {
  return std::make_unique<OneShotPlayer>(shape, std::move(network));
}

std::unique_ptr<Model> MakeOneShotModel(const PolicyShape& shape, std::unique_ptr<OneShotNetwork> network,
                                        const std::vector<PlacementTask>& tasks) {
  return std::make_unique<OneShotModel>(shape, std::move(network), tasks);
}

}  // namespace emplace
