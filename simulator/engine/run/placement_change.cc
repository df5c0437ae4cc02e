#include "simulator/engine/run/placement_change.h"

namespace emplace {

PlacementChange::PlacementChange(const SimGraph& graph) : compared_in_(static_cast<size_t>(graph.num_ops)) {
  producers_ = CsrFromPairs(graph.num_ops, [&](auto visit) {
    for (OpIndex op = 0; op < graph.num_ops; ++op) {
      for (const OpIndex reader : graph.ReadersOf(op)) visit(reader, op);
    }
  });
}

}  // namespace emplace
