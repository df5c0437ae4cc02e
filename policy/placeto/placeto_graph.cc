#include "policy/placeto/placeto_graph.h"

#include <algorithm>

namespace emplace {
namespace {

// Divided by the maximum over the graph; all zero where that is zero.
template <typename T>
std::vector<float> Normalized(const std::vector<T>& values) {
  const double largest = values.empty() ? 0 : static_cast<double>(*std::max_element(values.begin(), values.end()));
  std::vector<float> scaled;
  scaled.reserve(values.size());
  for (const T value : values) {
    scaled.push_back(largest > 0 ? static_cast<float>(static_cast<double>(value) / largest) : 0.0F);
  }
  return scaled;
}

}  // namespace

PlacetoGraph::PlacetoGraph(const GroupGraph& groups)
    : num_nodes(groups.num_groups),
      num_devices(groups.num_devices),
      cost(Normalized(groups.cost_us)),
      bytes(Normalized(groups.output_bytes)),
      memory(Normalized(groups.memory_bytes)),
      parents(groups.parents),
      children(groups.children),
      allowed(groups.allowed) {
  DeriveClosure();
}

std::vector<PlacetoGraph> MakePlacetoGraphs(const std::vector<PlacementTask>& tasks) {
  std::vector<PlacetoGraph> graphs;
  for (const PlacementTask& task : tasks) graphs.emplace_back(task.groups);
  return graphs;
}

std::vector<const PlacetoGraph*> PointersTo(const std::vector<PlacetoGraph>& graphs) {
  std::vector<const PlacetoGraph*> pointers;
  for (const PlacetoGraph& graph : graphs) pointers.push_back(&graph);
  return pointers;
}

void PlacetoGraph::DeriveClosure() {
  const auto n = static_cast<size_t>(num_nodes);
  // Nodes are in topological order, so one pass each way closes the relation.
  const auto row_words = static_cast<size_t>(words());
  ancestors.assign(n * row_words, 0);
  descendants.assign(n * row_words, 0);
  const auto absorb = [&](std::vector<uint64_t>& rows, int32_t into, int32_t from) {
    const auto target = static_cast<size_t>(into) * row_words;
    const auto source = static_cast<size_t>(from) * row_words;
    for (size_t word = 0; word < row_words; ++word) rows[target + word] |= rows[source + word];
    rows[target + static_cast<size_t>(from) / 64] |= uint64_t{1} << (from % 64);
  };
  for (int32_t node = 0; node < num_nodes; ++node) {
    for (const int32_t parent : parents.Row(node)) absorb(ancestors, node, parent);
  }
  for (int32_t node = num_nodes - 1; node >= 0; --node) {
    for (const int32_t child : children.Row(node)) absorb(descendants, node, child);
  }
}

}  // namespace emplace
