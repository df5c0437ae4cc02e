#include "simulator/engine/memory/peak_memory.h"

#include "simulator/engine/memory/executor_memory.h"
#include "simulator/engine/memory/placeto_memory.h"

namespace emplace {

std::vector<int64_t> MostBytesOfOps(const SimGraph& graph) {
  std::vector<int64_t> most;
  for (size_t o = 0; o < static_cast<size_t>(graph.num_ops); ++o) {
    most.push_back(graph.param_bytes[o] + graph.output_bytes[o] + graph.temp_bytes[o]);
  }
  if (graph.memory_rule == MemoryRule::kPlaceto) return most;
  for (int32_t tensor = 0; tensor < graph.tensor_consumers.rows(); ++tensor) {
    for (const OpIndex reader : graph.tensor_consumers.Row(tensor)) {
      most[static_cast<size_t>(reader)] += graph.tensor_bytes[static_cast<size_t>(tensor)];
    }
  }
  return most;
}

std::unique_ptr<PeakMemory> MakePeakMemory(const SimGraph& graph) {
  if (graph.memory_rule == MemoryRule::kPlaceto) return std::make_unique<PlacetoMemory>(graph);
  return std::make_unique<ExecutorMemory>(graph);
}

}  // namespace emplace
