#include "simulator/engine/free_sources.h"

#include <algorithm>
#include <cstddef>

namespace emplace {
namespace {

bool IsFree(const SimGraph& graph, size_t op) {
  const auto devices = static_cast<size_t>(graph.num_devices);
  return std::ranges::all_of(std::span(graph.cost_us).subspan(op * devices, devices),
                             [](double us) { return us == 0 || !MayRunAt(us); });
}

bool SendingTakesTime(const SimGraph& graph, size_t op) {
  const auto first = static_cast<size_t>(graph.tensor_begin[op]);
  const auto last = static_cast<size_t>(graph.tensor_begin[op + 1]);
  return std::ranges::all_of(std::span(graph.tensor_bytes).subspan(first, last - first),
                             [](int64_t bytes) { return bytes > 0; });
}

}  // namespace

std::vector<uint8_t> FreeSources(const SimGraph& graph) {
  std::vector<uint8_t> free(static_cast<size_t>(graph.num_ops));
  for (size_t op = 0; op < free.size(); ++op)
    free[op] = graph.num_inputs[op] == 0 && IsFree(graph, op) && SendingTakesTime(graph, op) ? 1 : 0;
  return free;
}

void PutFreeSourcesFirst(const SimGraph& graph, std::vector<OpIndex>& ops) {
  const std::vector<uint8_t> is_free = FreeSources(graph);
  std::stable_partition(ops.begin(), ops.end(), [&](OpIndex op) { return is_free[static_cast<size_t>(op)] == 1; });
}

}  // namespace emplace
