#include "simulator/engine/placement_change.h"

#include <numeric>

namespace emplace {

PlacementChange::PlacementChange(const SimGraph& graph) : compared_(static_cast<size_t>(graph.num_ops)) {
  producers_.begin.resize(compared_.size() + 1);
  std::partial_sum(graph.num_inputs.begin(), graph.num_inputs.end(), producers_.begin.begin() + 1);
  producers_.items.resize(graph.tensor_consumers.items.size());
  std::vector<int32_t> next(producers_.begin.begin(), producers_.begin.end() - 1);
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    const auto o = static_cast<size_t>(op);
    for (int32_t tensor = graph.tensor_begin[o]; tensor < graph.tensor_begin[o + 1]; ++tensor) {
      for (const int32_t consumer : graph.tensor_consumers.Row(tensor)) {
        producers_.items[static_cast<size_t>(next[static_cast<size_t>(consumer)]++)] = op;
      }
    }
  }
}

}  // namespace emplace
