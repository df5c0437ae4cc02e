// Random priorities of ops, for Simulator::SetPriority.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/rng.h"
#include "simulator/engine/free_sources.h"

namespace emplace {

inline std::vector<OpIndex> RandomPriority(Rng& rng, int32_t num_ops) {
  std::vector<OpIndex> ops(static_cast<size_t>(num_ops));
  std::iota(ops.begin(), ops.end(), 0);
  for (size_t i = ops.size(); i > 1; --i)
    std::swap(ops[i - 1], ops[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(i) - 1))]);
  return ops;
}

// Free sources go before all other ops.
inline std::vector<OpIndex> RandomPrioritySourcesFirst(Rng& rng, const SimGraph& graph) {
  std::vector<OpIndex> ops = RandomPriority(rng, graph.num_ops);
  PutFreeSourcesFirst(graph, ops);
  return ops;
}

}  // namespace emplace
