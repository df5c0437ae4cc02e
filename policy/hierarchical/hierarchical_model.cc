#include "policy/hierarchical/hierarchical_model.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "policy/hierarchical/hierarchical_kind.h"
#include "policy/hierarchical/hierarchical_network.h"
#include "policy/torch/graph_logits.h"
#include "policy/torch/sequence_network.h"

namespace emplace {
namespace {

class HierarchicalModel final : public Model {
 public:
  HierarchicalModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks)
      : tasks_(tasks),
        graphs_(tasks),
        num_devices_(shape.num_devices),
        num_bins_(NumBins(shape.num_devices)),
        placer_(HierarchicalPlacer(shape)),
        parameters_(HierarchicalKind().Parameters(shape)) {}

  const std::string& device() const override { return device_; }

  // The grouper reads a graph once for all samples on it; the placer reads each sample's own bins.
  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    parameters_.Set(values, /*with_gradient=*/true);
    bins_.Clear();
    samples_.clear();
    decisions.blocks.clear();
    decisions.logits.clear();
    for (const Sample& sample : samples) {
      const Trajectory& episode = episodes[sample.episode];
      const GroupTensors& graph = graphs_.Of(episode.graph);
      const GroupGraph& groups = tasks_[episode.graph].groups;
      const auto n = static_cast<size_t>(groups.num_groups);
      const UsedBins used(groups, std::span(episode.actions).first(n));
      samples_.push_back({episode.graph, DeviceLogits(graph, used, std::span(episode.actions).subspan(n))});
      decisions.blocks.push_back(
          {.count = groups.num_groups + static_cast<int32_t>(used.size()), .num_choices = num_bins_});
      AppendLogits(bins_.Of(episode.graph, [&] { return BinLogits(parameters_, graph); }), decisions.logits);
      for (size_t item = 0; item < used.size(); ++item) {
        AppendLogits(samples_.back().devices[static_cast<int64_t>(item)], used.AllowedRow(item), decisions.logits);
        decisions.logits.resize(decisions.logits.size() + static_cast<size_t>(num_bins_ - num_devices_),
                                -std::numeric_limits<float>::infinity());
      }
    }
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    for (ComputedSample& sample : samples_) {
      logit_gradient = bins_.AddSlopes(sample.graph, logit_gradient);
      torch::Tensor by_devices = torch::empty_like(sample.devices, torch::MemoryFormat::Contiguous);  // [k, D]
      float* to = by_devices.data_ptr<float>();
      for (int64_t item = 0; item < by_devices.size(0); ++item) {
        to = std::copy_n(logit_gradient.begin(), num_devices_, to);
        logit_gradient = logit_gradient.subspan(static_cast<size_t>(num_bins_));
      }
      parameters_.AddGradient({sample.devices}, {by_devices}, gradient);
      sample.devices = torch::Tensor();  // Frees what was recorded.
    }
    bins_.AddGradient(parameters_, gradient);
  }

 private:
  struct ComputedSample {
    GraphId graph = 0;
    torch::Tensor devices;  // [k, D] the placer's logits
  };

  // devices: [k] what was chosen for the bins.
  torch::Tensor DeviceLogits(const GroupTensors& graph, const UsedBins& used, std::span<const uint8_t> devices) {
    const EncodedSequence encoded = placer_.Encode(parameters_, BinFeatures(graph, used));
    DecoderState state = placer_.Start(1);
    std::vector<torch::Tensor> logits;
    int64_t before = num_devices_;
    for (size_t item = 0; item < used.size(); ++item) {
      logits.push_back(placer_.Step(parameters_, encoded, static_cast<int64_t>(item), torch::tensor({before}), state));
      before = devices[item];
    }
    return torch::cat(logits);
  }

  const std::string device_ = "cpu";
  const std::vector<PlacementTask>& tasks_;
  TensorsOfTasks graphs_;
  const int32_t num_devices_;
  const int32_t num_bins_;
  const SequenceNetwork placer_;
  TorchParameters parameters_;
  GraphLogits bins_;                     // The grouper's logits [n, NumBins] of the last Forward.
  std::vector<ComputedSample> samples_;  // Of the last Forward.
};

}  // namespace

std::unique_ptr<Model> MakeHierarchicalModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return std::make_unique<HierarchicalModel>(shape, tasks);
}

}  // namespace emplace
