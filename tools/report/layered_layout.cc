#include "tools/report/layered_layout.h"

#include <algorithm>
#include <limits>

#include "common/error.h"

namespace emplace {
namespace {

constexpr int kSweeps = 12;  // There and back; the order changes no more by then in practice.

using Neighbours = std::vector<std::vector<size_t>>;

class Layouter {
 public:
  Layouter(size_t num_nodes, const std::vector<std::pair<int32_t, int32_t>>& edges)
      : parents_(num_nodes), children_(num_nodes), layer_(num_nodes), position_(num_nodes) {
    for (const auto& [from, to] : edges) {
      EMPLACE_CHECK(0 <= from && from < to && static_cast<size_t>(to) < num_nodes);
      parents_[static_cast<size_t>(to)].push_back(static_cast<size_t>(from));
      children_[static_cast<size_t>(from)].push_back(static_cast<size_t>(to));
    }
  }

  LayeredLayout Run() {
    AssignLayers();
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (size_t l = 1; l < layers_.size(); ++l) Arrange(layers_[l], parents_);
      for (size_t l = layers_.size(); l-- > 0;) Arrange(layers_[l], children_);
    }
    LayeredLayout layout{static_cast<int32_t>(layers_.size()), {}, position_};
    for (const size_t layer : layer_) layout.layer.push_back(static_cast<int32_t>(layer));
    if (!position_.empty()) {
      const double least = *std::min_element(position_.begin(), position_.end());
      for (double& position : layout.position) position -= least;
    }
    return layout;
  }

 private:
  void AssignLayers() {
    size_t num_layers = 0;
    for (size_t node = 0; node < layer_.size(); ++node) {
      for (const size_t parent : parents_[node]) layer_[node] = std::max(layer_[node], layer_[parent] + 1);
      num_layers = std::max(num_layers, layer_[node] + 1);
    }
    // What has no parents goes right before the first that reads it: short edges.
    for (size_t node = 0; node < layer_.size(); ++node) {
      if (!parents_[node].empty() || children_[node].empty()) continue;
      size_t first = std::numeric_limits<size_t>::max();
      for (const size_t child : children_[node]) first = std::min(first, layer_[child]);
      layer_[node] = first - 1;
    }
    layers_.resize(num_layers);
    for (size_t node = 0; node < layer_.size(); ++node) {
      position_[node] = static_cast<double>(layers_[layer_[node]].size());
      layers_[layer_[node]].push_back(node);
    }
  }

  double Wanted(size_t node, const Neighbours& neighbours) const {
    if (neighbours[node].empty()) return position_[node];
    double sum = 0;
    for (const size_t other : neighbours[node]) sum += position_[other];
    return sum / static_cast<double>(neighbours[node].size());
  }

  // Orders the layer by where its nodes want to be, and puts them as near to it as being 1 apart allows.
  void Arrange(std::vector<size_t>& nodes, const Neighbours& neighbours) {
    std::vector<std::pair<double, size_t>> wanted;
    for (const size_t node : nodes) wanted.push_back({Wanted(node, neighbours), node});
    std::sort(wanted.begin(), wanted.end());
    // Pushed to the one side and to the other; the middle of the two keeps the distances as well.
    std::vector<double> up(wanted.size());
    std::vector<double> down(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      up[i] = i == 0 ? wanted[i].first : std::max(wanted[i].first, up[i - 1] + 1);
    }
    for (size_t i = wanted.size(); i-- > 0;) {
      down[i] = i + 1 == wanted.size() ? wanted[i].first : std::min(wanted[i].first, down[i + 1] - 1);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      nodes[i] = wanted[i].second;
      position_[nodes[i]] = (up[i] + down[i]) / 2;
    }
  }

  Neighbours parents_;
  Neighbours children_;
  std::vector<size_t> layer_;
  std::vector<double> position_;
  std::vector<std::vector<size_t>> layers_;
};

}  // namespace

LayeredLayout LayOut(int32_t num_nodes, const std::vector<std::pair<int32_t, int32_t>>& edges) {
  return Layouter(static_cast<size_t>(num_nodes), edges).Run();
}

}  // namespace emplace
