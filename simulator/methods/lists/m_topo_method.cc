#include "simulator/methods/lists/m_topo_method.h"

#include <algorithm>
#include <vector>

#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

MethodResult MTopoMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  double total = 0;
  double largest = 0;
  for (int32_t unit = 0; unit < graph.num_units(); ++unit) {
    const auto bytes = static_cast<double>(graph.UnitBytes(unit));
    total += bytes;
    largest = std::max(largest, bytes);
  }
  // The paper's cap: what each device would get of an even split, and one op more, so that all find a place.
  const double cap = total / graph.num_devices() + largest;
  return PlaceWithinMemory(graph, [&](UnitPlacement& placing) {
    DeviceIndex filling = 0;
    for (const OpIndex op : graph.topological_order()) {
      const std::vector<DeviceIndex>& candidates = placing.Candidates(op);
      const auto bytes = static_cast<double>(graph.UnitBytes(graph.UnitOf(op)));
      const bool decided = candidates.size() == 1;
      while (!decided && filling + 1 < graph.num_devices() && placing.used_bytes(filling) + bytes > cap) ++filling;
      const auto at_or_after = std::lower_bound(candidates.begin(), candidates.end(), filling);
      const DeviceIndex device = at_or_after == candidates.end() ? candidates.back() : *at_or_after;
      placing.Assign(op, device);
    }
    return placing.placement();
  });
}

}  // namespace emplace
