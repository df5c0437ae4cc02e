// Random priorities of ops, for Simulator::SetPriority.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "common/ids.h"
#include "common/rng.h"
#include "simulator/engine/free_sources.h"

namespace emplace {

inline std::vector<OpIndex> RandomPriority(Rng& rng, int32_t num_ops) {
  std::vector<OpIndex> ops(static_cast<size_t>(num_ops));
  std::iota(ops.begin(), ops.end(), 0);
  Shuffle(rng, ops);
  return ops;
}

// Free sources go before all other ops.
inline std::vector<OpIndex> RandomPrioritySourcesFirst(Rng& rng, const SimGraph& graph) {
  std::vector<OpIndex> ops = RandomPriority(rng, graph.num_ops);
  PutFreeSourcesFirst(graph, ops);
  return ops;
}

}  // namespace emplace
