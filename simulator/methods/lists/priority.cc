#include "simulator/methods/lists/priority.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "simulator/engine/free_sources.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/lists/upward_rank.h"

namespace emplace {
namespace {

// Free sources first; ops whose keys are equal stay in the order of their indices.
template <typename Before>
Priority Sorted(const SimGraph& graph, std::span<const double> keys, Before before) {
  Priority priority(keys.size());
  std::iota(priority.begin(), priority.end(), 0);
  std::stable_sort(priority.begin(), priority.end(), [&](OpIndex a, OpIndex b) {
    return before(keys[static_cast<size_t>(a)], keys[static_cast<size_t>(b)]);
  });
  PutFreeSourcesFirst(graph, priority);
  return priority;
}

}  // namespace

Priority PriorityByRank(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  return Sorted(graph.task().sim, PlacedUpwardRanksUs(graph, placement), std::greater<>());
}

Priority ByTime(const SimGraph& graph, std::span<const double> time_us) {
  return Sorted(graph, time_us, std::less<>());
}

DeviceOrders OrdersUnder(const Priority& priority, const SimGraph& graph, std::span<const DeviceIndex> placement) {
  Simulator simulator(graph);
  simulator.SetPriority(priority);
  simulator.Makespan(placement);
  return simulator.StartOrders();
}

}  // namespace emplace
