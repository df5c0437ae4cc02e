#include "simulator/engine/placement_change.h"

namespace emplace {

PlacementChange::PlacementChange(const SimGraph& graph) : compared_in_(static_cast<size_t>(graph.num_ops)) {
  producers_ = CsrFromPairs(graph.num_ops, [&](auto visit) {
    for (OpIndex op = 0; op < graph.num_ops; ++op) {
      const auto o = static_cast<size_t>(op);
      for (int32_t tensor = graph.tensor_begin[o]; tensor < graph.tensor_begin[o + 1]; ++tensor) {
        for (const OpIndex consumer : graph.tensor_consumers.Row(tensor)) visit(consumer, op);
      }
    }
  });
}

}  // namespace emplace
