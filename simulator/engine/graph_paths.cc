#include "simulator/engine/graph_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"

namespace emplace {

std::vector<OpIndex> TopologicalOrder(const SimGraph& graph) {
  std::vector<OpIndex> order;
  order.reserve(static_cast<size_t>(graph.num_ops));
  std::vector<int32_t> missing = graph.num_inputs;
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    if (missing[static_cast<size_t>(op)] == 0) order.push_back(op);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const auto op = static_cast<size_t>(order[i]);
    for (int32_t tensor = graph.tensor_begin[op]; tensor < graph.tensor_begin[op + 1]; ++tensor) {
      for (const OpIndex reader : graph.tensor_consumers.Row(tensor)) {
        if (--missing[static_cast<size_t>(reader)] == 0) order.push_back(reader);
      }
    }
  }
  EMPLACE_CHECK(order.size() == missing.size());
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

std::vector<double> TailsUs(const SimGraph& graph) {
  const std::vector<double> cost_us = LeastCostsUs(graph);
  const std::vector<OpIndex> order = TopologicalOrder(graph);
  std::vector<double> tail_us(order.size());
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto op = static_cast<size_t>(*at);
    for (int32_t tensor = graph.tensor_begin[op]; tensor < graph.tensor_begin[op + 1]; ++tensor) {
      for (const OpIndex reader : graph.tensor_consumers.Row(tensor)) {
        const auto r = static_cast<size_t>(reader);
        tail_us[op] = std::max(tail_us[op], cost_us[r] + tail_us[r]);
      }
    }
  }
  return tail_us;
}

}  // namespace emplace
