#include "simulator/engine/memory/peak_memory.h"

#include <algorithm>
#include <limits>

#include "simulator/engine/memory/executor_memory.h"
#include "simulator/engine/memory/placeto_memory.h"

namespace emplace {

std::vector<int64_t> MostBytesOfOps(const SimGraph& graph) {
  std::vector<int64_t> most;
  for (size_t o = 0; o < static_cast<size_t>(graph.num_ops); ++o) {
    most.push_back(graph.param_bytes[o] + graph.output_bytes[o] + graph.temp_bytes[o]);
  }
  if (graph.memory_rule == MemoryRule::kPlaceto) return most;
  // A tensor counts for each op that reads it: with this limit the sum over all ops stays below 2^63.
  const int64_t limit = std::numeric_limits<int64_t>::max() / 4 / std::max(1, graph.num_ops);
  for (int32_t tensor = 0; tensor < graph.tensor_consumers.rows(); ++tensor) {
    for (const OpIndex reader : graph.tensor_consumers.Row(tensor)) {
      int64_t& bytes = most[static_cast<size_t>(reader)];
      bytes = std::min(bytes, limit) + std::min(graph.tensor_bytes[static_cast<size_t>(tensor)], limit);
    }
  }
  return most;
}

std::unique_ptr<PeakMemory> MakePeakMemory(const SimGraph& graph) {
  if (graph.memory_rule == MemoryRule::kPlaceto) return std::make_unique<PlacetoMemory>(graph);
  return std::make_unique<ExecutorMemory>(graph);
}

}  // namespace emplace
