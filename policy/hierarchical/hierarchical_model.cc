#include "policy/hierarchical/hierarchical_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "policy/hierarchical/hierarchical_kind.h"
#include "policy/hierarchical/hierarchical_network.h"
#include "policy/torch/graph_logits.h"
#include "policy/torch/sequence_network.h"

namespace emplace {
namespace {

// Samples that the placer computes at once. What it costs to call LibTorch is then spread over so many.
constexpr size_t kSideBySide = 32;

class HierarchicalModel final : public Model {
 public:
  HierarchicalModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, c10::Device device)
      : device_(device.str()),
        tasks_(tasks),
        graphs_(tasks, device),
        num_devices_(shape.num_devices),
        num_bins_(NumBins(shape.num_devices)),
        placer_(HierarchicalPlacer(shape)),
        parameters_(HierarchicalKind().Parameters(shape), device) {}

  const std::string& device() const override { return device_; }

  // The grouper reads a graph once for all samples on it; the placer reads the bins of neighbours side by side.
  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    parameters_.Set(values, /*with_gradient=*/true);
    bins_.Clear();
    placed_.clear();
    decisions.blocks.clear();
    decisions.logits.clear();
    while (!samples.empty()) {
      const std::span<const Sample> together = samples.first(std::min(samples.size(), kSideBySide));
      samples = samples.subspan(together.size());
      placed_.push_back(Place(episodes, together));
      for (size_t e = 0; e < together.size(); ++e) {
        AppendSample(episodes[together[e].episode].graph, placed_.back(), e, decisions);
      }
    }
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    for (PlacedSamples& placed : placed_) {
      const torch::Tensor slopes = torch::zeros_like(placed.values);  // [B, n, D]
      for (size_t e = 0; e < placed.used.size(); ++e) {
        logit_gradient = bins_.AddSlopes(placed.graphs[e], logit_gradient);
        float* to = slopes[placed.rows[e]].data_ptr<float>();
        for (size_t item = 0; item < placed.used[e].size(); ++item) {
          to = std::copy_n(logit_gradient.begin(), num_devices_, to);
          logit_gradient = logit_gradient.subspan(static_cast<size_t>(num_bins_));
        }
      }
      parameters_.AddGradient({placed.devices}, {slopes}, gradient);
      placed.devices = torch::Tensor();  // Frees what was recorded.
    }
    bins_.AddGradient(parameters_, gradient);
  }

 private:
  // Samples whose bins are given devices side by side. B of them.
  struct PlacedSamples {
    std::vector<GraphId> graphs;  // [B]
    std::vector<UsedBins> used;   // [B]
    std::vector<int64_t> rows;    // [B] where a sample is in `devices`, which has those with most bins first.
    torch::Tensor devices;        // [B, n, D] the placer's logits; n: the most bins that a sample has.
    torch::Tensor values;         // Those of `devices`, on the CPU.
  };

  PlacedSamples Place(std::span<const Trajectory> episodes, std::span<const Sample> together) {
    PlacedSamples placed;
    for (const Sample& sample : together) {
      const Trajectory& episode = episodes[sample.episode];
      const GroupGraph& groups = tasks_[episode.graph].groups;
      const auto n = static_cast<size_t>(groups.num_groups);
      placed.graphs.push_back(episode.graph);
      placed.used.emplace_back(groups, std::span(episode.actions).first(n));
    }
    std::vector<size_t> order(together.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](size_t e) { return placed.used[e].size(); });
    placed.rows.resize(order.size());
    std::vector<torch::Tensor> sequences;
    std::vector<std::span<const uint8_t>> chosen;  // The devices of the bins.
    for (size_t row = 0; row < order.size(); ++row) {
      const size_t e = order[row];
      placed.rows[e] = static_cast<int64_t>(row);
      const UsedBins& used = placed.used[e];
      sequences.push_back(BinFeatures(graphs_.OnHost(placed.graphs[e]), used));
      chosen.push_back(std::span(episodes[together[e].episode].actions).last(used.size()));
    }
    placed.devices = placer_.Replay(parameters_, placer_.Encode(parameters_, sequences), chosen);
    placed.values = OnHost(placed.devices);
    return placed;
  }

  // The bins of all groups, then the devices of the bins that have a group.
  void AppendSample(GraphId graph, const PlacedSamples& placed, size_t e, Decisions& decisions) {
    const UsedBins& used = placed.used[e];
    decisions.blocks.push_back(
        {.count = tasks_[graph].groups.num_groups + static_cast<int32_t>(used.size()), .num_choices = num_bins_});
    AppendLogits(bins_.Of(graph, [&] { return BinLogits(parameters_, graphs_.Of(graph)); }), decisions.logits);
    const torch::Tensor devices = placed.values[placed.rows[e]];
    for (size_t item = 0; item < used.size(); ++item) {
      AppendLogits(devices[static_cast<int64_t>(item)], used.AllowedRow(item), decisions.logits);
      decisions.logits.resize(decisions.logits.size() + static_cast<size_t>(num_bins_ - num_devices_),
                              -std::numeric_limits<float>::infinity());
    }
  }

  const std::string device_;
  const std::vector<PlacementTask>& tasks_;
  TensorsOfTasks graphs_;
  const int32_t num_devices_;
  const int32_t num_bins_;
  const SequenceNetwork placer_;
  TorchParameters parameters_;
  GraphLogits bins_;                   // The grouper's logits [n, NumBins] of the last Forward.
  std::vector<PlacedSamples> placed_;  // Of the last Forward.
};

}  // namespace

std::unique_ptr<Model> MakeHierarchicalModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                             c10::Device device) {
  return std::make_unique<HierarchicalModel>(shape, tasks, device);
}

}  // namespace emplace
