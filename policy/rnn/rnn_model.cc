#include "policy/rnn/rnn_model.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.h"
#include "policy/rnn/rnn_kind.h"
#include "policy/torch/group_tensors.h"
#include "policy/torch/sequence_network.h"

namespace emplace {
namespace {

class RnnModel final : public Model {
 public:
  RnnModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, c10::Device device)
      : device_(device.str()),
        tasks_(tasks),
        graphs_(tasks, device),
        network_(RnnSequence(shape)),
        parameters_(SequenceParameters(RnnSequence(shape)), device),
        num_devices_(shape.num_devices) {}

  const std::string& device() const override { return device_; }

  // Neighbours on one graph are computed side by side.
  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    parameters_.Set(values, /*with_gradient=*/true);
    computed_.clear();
    decisions.blocks.clear();
    decisions.logits.clear();
    while (!samples.empty()) {
      const GraphId graph = episodes[samples.front().episode].graph;
      const auto other =
          std::ranges::find_if(samples, [&](const Sample& sample) { return episodes[sample.episode].graph != graph; });
      const std::span<const Sample> together = samples.first(static_cast<size_t>(other - samples.begin()));
      samples = samples.subspan(together.size());
      computed_.push_back(LogitsOf(graph, episodes, together));
      const torch::Tensor logits = OnHost(computed_.back());
      const GroupGraph& groups = tasks_[graph].groups;
      for (size_t e = 0; e < together.size(); ++e) {
        decisions.blocks.push_back({.count = groups.num_groups, .num_choices = num_devices_});
        AppendLogits(logits[static_cast<int64_t>(e)], groups.allowed, decisions.logits);
      }
    }
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    for (torch::Tensor& logits : computed_) {
      const auto count = static_cast<size_t>(logits.numel());
      const torch::Tensor slope = torch::empty(logits.sizes(), torch::kFloat32);
      std::ranges::copy(logit_gradient.first(count), slope.data_ptr<float>());
      logit_gradient = logit_gradient.subspan(count);
      parameters_.AddGradient({logits}, {slope}, gradient);
      logits = torch::Tensor();  // Frees what was recorded.
    }
  }

 private:
  // [B, n, D] of B episodes on one graph.
  torch::Tensor LogitsOf(GraphId graph, std::span<const Trajectory> episodes, std::span<const Sample> together) {
    std::vector<std::span<const uint8_t>> chosen;
    for (const Sample& sample : together) chosen.emplace_back(episodes[sample.episode].actions);
    return network_.Replay(parameters_, network_.Encode(parameters_, graphs_.Of(graph).nodes), chosen);
  }

  const std::string device_;
  const std::vector<PlacementTask>& tasks_;
  TensorsOfTasks graphs_;
  const SequenceNetwork network_;
  TorchParameters parameters_;
  const int32_t num_devices_;
  std::vector<torch::Tensor> computed_;  // The logits of the last Forward, a tensor for each run of neighbours.
};

}  // namespace

std::unique_ptr<Model> MakeRnnModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                    c10::Device device) {
  return std::make_unique<RnnModel>(shape, tasks, device);
}

}  // namespace emplace
