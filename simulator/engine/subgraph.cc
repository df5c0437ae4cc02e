#include "simulator/engine/subgraph.h"

#include <cstddef>
#include <vector>

namespace emplace {

SimGraph Subgraph(const SimGraph& whole, std::span<const OpIndex> kept) {
  constexpr OpIndex kNone = -1;
  std::vector<OpIndex> number(static_cast<size_t>(whole.num_ops), kNone);
  for (size_t i = 0; i < kept.size(); ++i) number[static_cast<size_t>(kept[i])] = static_cast<OpIndex>(i);
  const auto devices = static_cast<size_t>(whole.num_devices);
  SimGraph graph = whole.WithoutOps();
  graph.num_ops = static_cast<int32_t>(kept.size());
  graph.num_inputs.assign(kept.size(), 0);
  for (const OpIndex op : kept) {
    const auto o = static_cast<size_t>(op);
    const auto costs = whole.cost_us.begin() + static_cast<std::ptrdiff_t>(o * devices);
    graph.cost_us.insert(graph.cost_us.end(), costs, costs + whole.num_devices);
    graph.output_bytes.push_back(whole.output_bytes[o]);
    graph.param_bytes.push_back(whole.param_bytes[o]);
    graph.temp_bytes.push_back(whole.temp_bytes[o]);
    graph.staying_bytes.push_back(whole.staying_bytes[o]);
    for (const int32_t tensor : whole.TensorsOf(op)) {
      std::vector<int32_t>& readers = graph.tensor_consumers.items;
      const size_t before = readers.size();
      for (const OpIndex reader : whole.tensor_consumers.Row(tensor)) {
        const OpIndex to = number[static_cast<size_t>(reader)];
        if (to == kNone) continue;
        readers.push_back(to);
        ++graph.num_inputs[static_cast<size_t>(to)];
      }
      if (readers.size() == before) continue;
      graph.tensor_consumers.begin.push_back(static_cast<int32_t>(readers.size()));
      graph.tensor_bytes.push_back(whole.tensor_bytes[static_cast<size_t>(tensor)]);
      graph.tensor_held_bytes.push_back(whole.tensor_held_bytes[static_cast<size_t>(tensor)]);
    }
    graph.tensor_begin.push_back(static_cast<int32_t>(graph.tensor_bytes.size()));
  }
  return graph;
}

}  // namespace emplace
