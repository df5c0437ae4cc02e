#include "policy/hierarchical/hierarchical_network.h"

#include <torch/torch.h>

#include <cmath>

#include "policy/hierarchical/hierarchical_kind.h"
#include "policy/torch/parameters.h"

namespace emplace {
namespace {

// Brings logarithms of numbers of groups and edges near 1.
constexpr double kLogScale = 5;

}  // namespace

torch::Tensor BinLogits(const TorchParameters& parameters, const GroupTensors& graph) {
  return Linear(parameters, "grouper.output", torch::relu(Linear(parameters, "grouper.hidden", graph.nodes)));
}

torch::Tensor BinFeatures(const GroupTensors& graph, const UsedBins& used) {
  const auto k = static_cast<int64_t>(used.size());
  torch::Tensor features = torch::zeros({k, NumBinFeatures(static_cast<int32_t>(used.num_devices))});
  auto row = features.accessor<float, 2>();
  const auto nodes = graph.nodes.accessor<float, 2>();
  std::vector<float> members(used.size());
  for (size_t group = 0; group < used.item_of_group.size(); ++group) {
    const size_t item = used.item_of_group[group];
    ++members[item];
    for (int64_t f = 0; f < kNumGroupFeatures; ++f) {
      row[static_cast<int64_t>(item)][f] += nodes[static_cast<int64_t>(group)][f];
    }
  }
  // Each edge is there in both directions.
  const auto from = graph.from.accessor<int64_t, 1>();
  const auto to = graph.to.accessor<int64_t, 1>();
  const int64_t first_bin = kNumGroupFeatures + 1;
  for (int64_t edge = 0; edge < graph.from.numel(); ++edge) {
    const size_t other = used.item_of_group[static_cast<size_t>(from[edge])];
    row[used.item_of_group[static_cast<size_t>(to[edge])]][first_bin + used.bins[other]] += 1;
  }
  for (int64_t item = 0; item < k; ++item) {
    const float count = members[static_cast<size_t>(item)];
    for (int64_t f = 0; f < kNumGroupFeatures; ++f) row[item][f] /= count;
    row[item][kNumGroupFeatures] = count;
    for (int64_t f = kNumGroupFeatures; f < features.size(1); ++f) {
      row[item][f] = static_cast<float>(std::log1p(static_cast<double>(row[item][f])) / kLogScale);
    }
  }
  return features;
}

}  // namespace emplace
