#include "simulator/environment/featurizer.h"

#include <algorithm>

namespace emplace {
namespace {

// Divided by the maximum over the graph; all zero where that is zero.
template <typename T>
std::vector<float> Normalized(const std::vector<T>& values) {
  const double most = values.empty() ? 0 : static_cast<double>(*std::max_element(values.begin(), values.end()));
  std::vector<float> normalized;
  normalized.reserve(values.size());
  for (const T value : values) {
    normalized.push_back(most > 0 ? static_cast<float>(static_cast<double>(value) / most) : 0.0F);
  }
  return normalized;
}

}  // namespace

PolicyGraph MakePolicyGraph(const GroupedGraph& grouped, int32_t num_devices) {
  PolicyGraph graph;
  graph.num_nodes = grouped.num_groups;
  graph.num_devices = num_devices;
  graph.cost = Normalized(grouped.cost_us);
  graph.bytes = Normalized(grouped.output_bytes);
  graph.memory = Normalized(grouped.memory_bytes);
  graph.allowed = grouped.allowed;

  std::vector<std::vector<int32_t>> parents(static_cast<size_t>(grouped.num_groups));
  for (const GroupEdge& edge : grouped.edges) parents[static_cast<size_t>(edge.to)].push_back(edge.from);
  for (std::vector<int32_t>& row : parents) {
    std::sort(row.begin(), row.end());
    graph.parents.items.insert(graph.parents.items.end(), row.begin(), row.end());
    graph.parents.begin.push_back(static_cast<int32_t>(graph.parents.items.size()));
  }
  graph.DeriveFromParents();
  return graph;
}

}  // namespace emplace
