#include "simulator/engine/graph_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"

namespace emplace {

std::vector<OpIndex> ReadyOrder(const SimGraph& graph) {
  std::vector<OpIndex> order;
  order.reserve(static_cast<size_t>(graph.num_ops));
  std::vector<int32_t> missing = graph.num_inputs;
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    if (missing[static_cast<size_t>(op)] == 0) order.push_back(op);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const OpIndex reader : graph.ReadersOf(order[i])) {
      if (--missing[static_cast<size_t>(reader)] == 0) order.push_back(reader);
    }
  }
  return order;
}

std::vector<OpIndex> TopologicalOrder(const SimGraph& graph) {
  std::vector<OpIndex> order = ReadyOrder(graph);
  EMPLACE_CHECK(order.size() == static_cast<size_t>(graph.num_ops));
  return order;
}

std::vector<double> LeastCostsUs(const SimGraph& graph) {
  const auto devices = static_cast<size_t>(graph.num_devices);
  std::vector<double> least(static_cast<size_t>(graph.num_ops), std::numeric_limits<double>::infinity());
  for (size_t o = 0; o < least.size(); ++o) {
    for (size_t d = 0; d < devices; ++d) least[o] = std::fmin(least[o], graph.cost_us[o * devices + d]);  // Skips NaN.
  }
  return least;
}

std::vector<int32_t> OpDepths(const SimGraph& graph) {
  std::vector<int32_t> depths(static_cast<size_t>(graph.num_ops), 0);
  for (const OpIndex op : TopologicalOrder(graph)) {
    for (const OpIndex reader : graph.ReadersOf(op)) {
      int32_t& depth = depths[static_cast<size_t>(reader)];
      depth = std::max(depth, depths[static_cast<size_t>(op)] + 1);
    }
  }
  return depths;
}

std::vector<int32_t> DistancesToEnd(const SimGraph& graph) {
  std::vector<int32_t> distances(static_cast<size_t>(graph.num_ops), 0);
  const std::vector<OpIndex> order = TopologicalOrder(graph);
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    int32_t& distance = distances[static_cast<size_t>(*op)];
    for (const OpIndex reader : graph.ReadersOf(*op))
      distance = std::max(distance, distances[static_cast<size_t>(reader)] + 1);
  }
  return distances;
}

std::vector<double> HeadsUs(const SimGraph& graph, std::span<const double> cost_us) {
  std::vector<double> head_us(cost_us.size());
  for (const OpIndex op : TopologicalOrder(graph)) {
    const auto o = static_cast<size_t>(op);
    for (const OpIndex reader : graph.ReadersOf(op)) {
      double& head = head_us[static_cast<size_t>(reader)];
      head = std::max(head, head_us[o] + cost_us[o]);
    }
  }
  return head_us;
}

std::vector<double> TailsUs(const SimGraph& graph) {
  const std::vector<double> cost_us = LeastCostsUs(graph);
  const std::vector<OpIndex> order = TopologicalOrder(graph);
  std::vector<double> tail_us(order.size());
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto op = static_cast<size_t>(*at);
    for (const OpIndex reader : graph.ReadersOf(*at)) {
      const auto r = static_cast<size_t>(reader);
      tail_us[op] = std::max(tail_us[op], cost_us[r] + tail_us[r]);
    }
  }
  return tail_us;
}

std::vector<OpIndex> TensorProducers(const SimGraph& graph) {
  std::vector<OpIndex> producers(graph.tensor_bytes.size());
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    for (const int32_t tensor : graph.TensorsOf(op)) producers[static_cast<size_t>(tensor)] = op;
  }
  return producers;
}

}  // namespace emplace
